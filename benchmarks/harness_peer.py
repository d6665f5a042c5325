"""One measured run of Inspect AI in its own virtual environment; `harness.py` starts it.

The same work with the peer's best settings: no display, no realtime log, as many parallel samples as connections, usage
supplied by the model.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import ANSWER, CALLS
from benchmarks.measure import peak


def main(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    from inspect_ai import Task, eval  # type: ignore[import-not-found]
    from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found]
    from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model  # type: ignore[import-not-found]
    from inspect_ai.scorer import match  # type: ignore[import-not-found]
    from inspect_ai.solver import generate, use_tools  # type: ignore[import-not-found]
    from inspect_ai.tool import Tool, tool  # type: ignore[import-not-found]

    @tool  # type: ignore[untyped-decorator]
    def look() -> Tool:
        async def execute(word: str) -> str:
            """Look a word up.

            Args:
                word: The word.
            """
            return f"{word} is a word of {len(word)} letters, and its answer is Ada."

        return execute

    def outputs(messages: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
        n_results = sum(isinstance(message, ChatMessageTool) for message in messages)
        if n_results + 1 < CALLS:
            output = ModelOutput.for_tool_call("mockllm", "look", {"word": f"word{n_results}"})
        else:
            output = ModelOutput.from_content("mockllm", ANSWER)
        output.usage = ModelUsage(input_tokens=300, output_tokens=20, total_tokens=320)
        return output

    asked = (f"Which name do the words of number {i} stand for?" for i in range(spec["questions"]))
    samples = [Sample(input=text, target=ANSWER, id=f"q{i}") for i, text in enumerate(asked)]
    task = Task(dataset=MemoryDataset(samples), solver=[use_tools(look()), generate()], scorer=match())
    if spec["base_url"]:
        os.environ["STUB_BASE_URL"], os.environ["STUB_API_KEY"] = spec["base_url"], "none"
        model = get_model("openai-api/stub/stub")
    else:
        model = get_model("mockllm/model", custom_outputs=outputs)
    options = {"display": "none", "log_realtime": False, "log_dir": str(folder / "logs")}
    sizes = {"max_connections": spec["connections"], "max_samples": max(spec["connections"], 10)}
    wall, cpu = time.perf_counter(), time.process_time()
    (log,) = eval(task, model=model, **options, **sizes)
    seconds, seconds_cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "seconds": seconds,
        "run": seconds,
        "cpu": seconds_cpu,
        "peak": peak(),
        "episodes": log.results.completed_samples if log.results else 0,
        "mean": log.results.scores[0].metrics["accuracy"].value if log.results else None,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[2]), Path(sys.argv[4]))))

"""Checks whether a model gives the same answers in this process and behind llama.cpp's OpenAI-compatible server.

One grid runs three times with the same GGUF file: `gguf/` with one connection, `openai/` with one connection to a
server that xllamacpp starts, and `openai/` with eight connections to a server of eight slots. Answers and transcripts
are compared per question.

    python benchmarks/same_answers.py [--questions 5]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from r_eval import Grid, arun
from r_eval.llms.base import make_llm
from r_eval.records import Episode

MODEL = "gguf/smollm2-135m"
CONTEXT = 4096


async def episodes_over_server(slots: int, questions: int, folder: Path) -> list[Episode]:
    """The episodes with a server that has as many slots as connections."""
    server: Any = make_llm(MODEL, {"context": CONTEXT, "connections": slots})
    await server.open()
    llm = {
        "llm": "openai/smollm2-135m",
        "base_url": f"{server._server.listening_address}/v1",
        "connections": slots,
        "native_tools": server.native_tools,
    }
    try:
        return await episodes(llm, questions, folder)
    finally:
        await server.close()


async def episodes(llm: dict[str, Any], questions: int, folder: Path) -> list[Episode]:
    grid = Grid(
        llms=[{**llm, "name": "model", "max_tokens": 48}],
        workflows=["direct", "react", "fc"],
        tasks=["wiki/high-freq", "wiki/hotpotqa", "aminer/soay-easy"],
        samples=questions,
        limits={"steps": 3, "observation": 120, "seconds": 3600},
    )
    run = await arun(grid, folder, cache=False)
    return sorted(run.episodes(), key=lambda e: (e.workflow, e.task, e.question_id))


def thoughts(episode: Episode) -> list[str]:
    return [step.text for step in episode.steps if step.kind == "thought"]


async def main(questions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        llm = {"llm": MODEL, "context": CONTEXT, "connections": 1}
        in_process = await episodes(llm, questions, Path(folder, "here"))
        for slots in (1, 8):
            over_server = await episodes_over_server(slots, questions, Path(folder, f"there{slots}"))
            pairs = list(zip(in_process, over_server, strict=True))
            answers = sum(a.answer != b.answer for a, b in pairs)
            texts = sum(thoughts(a) != thoughts(b) for a, b in pairs)
            print(
                f"in process, one connection, against a server with {slots} connection(s): of {len(pairs)} episodes "
                f"{answers} end in another answer, {texts} have another text somewhere",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5, help="questions per task")
    asyncio.run(main(parser.parse_args().questions))

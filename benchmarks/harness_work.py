"""The workload of the runner benchmarks: a small domain, its questions, a scripted LLM and the grid.

Every episode of `react` looks words up until its last step and then answers. The scripted LLM and the stub server
follow the same rules.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ENVIRONMENT = '''
"""Words and what they mean."""

from r_eval.environments.base import Environment, query_api


class Words(Environment):
    """A dictionary."""

    @query_api
    def look(self, word: str) -> str:
        """Look a word up.

        Args:
            word: The word.
        """
        return f"{word} is a word of {len(word)} letters, and its answer is Ada."
'''
SCRIPT = """
from harness_work import scripted


def reply(request):
    return scripted(request, {steps})
"""
ANSWER = "Ada"


def text_of(count: int, steps: int) -> str:
    """ReAct's reply after a number of observations."""
    if count + 1 < steps:
        return f"Thought {count + 1}: I look up the next word, number {count}.\nAction {count + 1}: look[word{count}]"
    return f"Thought {count + 1}: I know it now.\nAction {count + 1}: Finish[{ANSWER}]"


def scripted(request: Any, steps: int) -> str:
    """The reply of the scripted LLM, which depends on the number of earlier messages."""
    return text_of(sum(message.role == "user" for message in request.messages) - 1, steps)


def served(body: dict[str, Any], steps: int) -> dict[str, Any]:
    """The stub's message: a call where the peer offers tools, else what ReAct reads."""
    roles = [message["role"] for message in body["messages"]]
    if not body.get("tools"):
        return {"role": "assistant", "content": text_of(roles.count("user") - 1, steps)}
    if (seen := roles.count("tool")) + 1 >= steps:
        return {"role": "assistant", "content": ANSWER}
    call = {"name": "look", "arguments": json.dumps({"word": f"word{seen}"})}
    calls = [{"id": f"call_{seen}", "type": "function", "function": call}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def grid(folder: Path, spec: dict[str, Any]) -> dict[str, Any]:
    """The grid of a specification: `questions`, `epochs`, `steps`, and `llms` or a scripted one."""
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as file:
        for i in range(spec["questions"]):
            text = f"Which name do the words of number {i} stand for?"
            question = {"id": f"q{i:07d}", "question": text, "answers": [ANSWER], "level": "KS"}
            file.write(json.dumps(question) + "\n")
    (folder / "words.py").write_text(ENVIRONMENT, encoding="utf-8")
    (folder / "script.py").write_text(SCRIPT.format(steps=spec["steps"]), encoding="utf-8")
    scripted_llm = {"llm": f"scripted/{folder}/script.py:reply", "name": "scripted"}
    return {
        "name": "harness",
        "workflows": ["react"],
        "llms": spec["llms"] or [scripted_llm],
        "tasks": [
            {
                "task": "words",
                "questions": str(folder / "questions.jsonl"),
                "environment": f"{folder}/words.py:Words",
                "metric": "exact_match",
            }
        ],
        "epochs": spec["epochs"],
        "shots": 0,
        "limits": {"steps": spec["steps"]},
    }

"""Agent: any program, or Python function, of the user's as a workflow.

The program is given the question, the episode's LLM as an OpenAI-compatible address, and the query APIs as an MCP
address. It answers with the last line of its standard output, or with `{"answer": ...}` there. All that it asks of the
two addresses is recorded, counted and limited as in any other workflow: an LLM call is a step.

The program is the system under test: where it fails, the episode `gave_up`, and counts.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic_core import from_json

from r_eval.environments.base import threads
from r_eval.environments.sandbox import answer_text
from r_eval.errors import MissingExtra
from r_eval.files import is_file
from r_eval.fingerprints import settings_hashes
from r_eval.llms.reply import encode_body
from r_eval.records import Outcome
from r_eval.text import clean
from r_eval.workflows.agent_messages import MODEL
from r_eval.workflows.agent_program import MAX_OUTPUT, Program, search_path, started
from r_eval.workflows.agent_server import SDK, AgentEpisode, agent_server
from r_eval.workflows.base import (
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    ended,
    finished,
)
from r_eval.workflows.last_chance import HOW as LAST_CHANCE

VARIABLES: Mapping[str, str] = {
    "OPENAI_BASE_URL": "base_url",
    "OPENAI_API_KEY": "api_key",
    "OPENAI_MODEL": "model",
    "R_EVAL_MCP_URL": "mcp_url",
    "R_EVAL_QUESTION": "question",
    "R_EVAL_INSTRUCTION": "instruction",
}
"""The environment variables that a program is given, and the keys of the same in the object on its standard input."""
MAX_VARIABLE = 20_000
"""Characters of a variable; a longer question is whole on standard input alone."""
MAX_DETAIL = 300
RUNNER = Path(__file__).with_name("agent_function.py")


class Agent(Workflow):
    """A program of the user's own.

    Args:
        command: The program and its arguments.
        function: A Python function in place of it: `file.py:function`, or `module:function`.
        pass_env: Names of environment variables that the program is given besides.
    """

    last_chance: ClassVar[bool] = False

    def __init__(
        self, command: Sequence[str] | None = None, function: str | None = None, pass_env: Sequence[str] = ()
    ) -> None:
        """Find the program.

        Raises:
            ValueError: A setting is wrong, or there is no such program.
            MissingExtra: The MCP SDK is not installed.
        """
        if (command is None) == (function is None):
            raise ValueError("expected either command: [python, my_agent.py] or function: my_agent.py:answer")
        self.command = None if command is None else _absolute(_texts("command", command))
        self.function = None if function is None else _located(function)
        self.pass_env = _texts("pass_env", pass_env)
        if taken := [name for name in self.pass_env if name in VARIABLES]:
            raise ValueError(f"pass_env: {taken[0]} is set for each episode and cannot be passed on")
        if importlib.util.find_spec("mcp") is None:
            raise MissingExtra("mcp", "mcp", "The workflow agent")

    def identity(self) -> dict[str, Any]:
        """A program is known by the content of the files that its command names, wherever they lie."""
        where, _, name = (self.function or "").rpartition(":")
        hashes = settings_hashes({"command": self.command, "function": [where, name]}, "program")
        return {"program": hashes.pop("program"), "pass_env": self.pass_env, "code": hashes, "prompt": {}}

    async def prepare(self) -> None:
        await threads.run(importlib.import_module, SDK)  # beside the event loop: it takes a second

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        server, episode = agent_server(), AgentEpisode(session, llm, limits)
        async with server.admit(episode):
            handed = {
                "question": question.text,
                "base_url": f"{server.address}/v1",
                "api_key": episode.token,
                "model": MODEL,
                "mcp_url": f"{server.address}/mcp/{episode.token}",
                **_further(question, session),
            }
            async with started(self._words(), self._variables(handed), encode_body(handed), episode.stop) as program:
                await episode.serve()
                return _ending(episode, program)

    def _words(self) -> list[str]:
        if self.command is not None:
            return self.command
        where, _, name = (self.function or "").rpartition(":")
        return [sys.executable, "-P", str(RUNNER), where, name]

    def _variables(self, handed: dict[str, Any]) -> dict[str, str]:
        found = {name: clean(handed[key]).replace("\0", "")[:MAX_VARIABLE] for name, key in VARIABLES.items()}
        passed = {name: os.environ[name] for name in self.pass_env if name in os.environ}
        return {**passed, **found, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


def _texts(name: str, value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name} must be a list of texts, not {value!r}")
    return list(value)


def _absolute(command: list[str]) -> list[str]:
    """A command whose files are named from the root, since the program runs in a folder of its own."""
    if not command or not command[0]:
        raise ValueError("command is empty")
    first, *rest = command
    first = str(Path(first).absolute()) if "/" in first else first  # not resolved: a venv's python is a link
    if shutil.which(first, path=search_path()) is None:
        raise ValueError(f"command: there is no program {command[0]}")
    return [first, *(str(Path(word).absolute()) if is_file(Path(word)) else word for word in rest)]


def _located(function: Any) -> str:
    """A function whose file, if it is in one, is named from the root."""
    where, colon, name = function.rpartition(":") if isinstance(function, str) else ("", "", "")
    if not colon or not where or not name.isidentifier():
        raise ValueError(f"expected function: my_agent.py:answer, not {function!r}")
    if not where.endswith(".py"):
        return str(function)
    if not is_file(Path(where)):
        raise ValueError(f"function: {where}: no such file")
    return f"{Path(where).absolute()}:{name}"


def _further(question: TaskInput, session: SessionProtocol) -> dict[str, Any]:
    """What else the other workflows know of a question."""
    demonstrations = [
        {
            "question": shown.question,
            "calls": [
                {"thought": shown.thought(place), "name": call.api, "arguments": call.arguments}
                | {"observation": call.observation}
                for place, call in enumerate(shown.calls)
            ],
            "thought": shown.thought(len(shown.calls)),
            "answer": shown.answer,
        }
        for shown in question.demonstrations
    ]
    context = [{"title": document.title, "text": document.text} for document in question.context]
    return {
        "instruction": question.instruction,
        "domain": session.description,
        "demonstrations": demonstrations,
        "context": context,
    }


def _ending(episode: AgentEpisode, program: Program) -> WorkflowResult:
    """The outcome of a program that has ended, or was ended."""
    failure = _failure(program)
    answer, is_object = _printed(program.output())
    if failure and not is_object:
        answer = ""
    if episode.reached is not None:
        if not answer:
            raise episode.reached
        detail = f"{episode.reached}; answered after it"
        return WorkflowResult(
            answer, Outcome(kind="exhausted", cause=episode.reached.cause, detail=detail), LAST_CHANCE
        )
    if answer:
        return finished(answer, "finish" if is_object else "text")
    cause, detail = failure or ("no_answer", "the program ended without an answer")
    return ended("gave_up", cause, detail)


def _failure(program: Program) -> tuple[str, str] | None:
    """What was wrong with how a program ended: a cause and a sentence; None for nothing."""
    if program.is_flooding:
        return "output", f"the program wrote more than {MAX_OUTPUT >> 20} MB"
    if not program.status:
        return None
    errors = clean(" ".join(program.errors().decode("utf-8", "replace").split()))[-MAX_DETAIL:]
    if program.status > 0:
        how = f"exit status {program.status}"
    else:
        names = {number.value: number.name for number in signal.Signals}
        how = f"the program was ended by {names.get(-program.status, f'signal {-program.status}')}"
    return "exit_status", f"{how}: {errors}" if errors else how


def _printed(output: bytes) -> tuple[str, bool]:
    """The answer in a program's output, and whether it stands in a JSON object; the last line that is not empty."""
    lines = output.decode("utf-8", "replace").rstrip().splitlines()
    line = lines[-1].strip() if lines else ""
    if line.startswith("{"):
        try:
            data = from_json(line)
        except ValueError:
            return clean(line), False
        if isinstance(data, dict) and "answer" in data:
            answer = data["answer"]
            return clean("" if answer is None else answer_text(answer)).strip(), True
    return clean(line), False

"""Agent: a user's program or Python function as a workflow.

The program gets the question, the episode's LLM at an OpenAI-compatible address and the query APIs at an MCP address.
The last line of its standard output is the answer, as text or as `{"answer": ...}`. Requests to both addresses are
recorded, counted and limited as in any other workflow: an LLM call is a step.

The program is the system under test: if it fails, the outcome of the episode is `gave_up`. It runs as a process in an
empty folder and a clean environment; at the end, its process group is killed. This is not a sandbox: it has all
permissions of its user. Its standard streams are files, so that nothing needs to be read while it runs and children
that outlive it block nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib
import itertools
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic_core import from_json

from r_eval.environments.base import EnvironmentFailure, threads
from r_eval.environments.sandbox import answer_text
from r_eval.errors import MissingExtra
from r_eval.files import is_file
from r_eval.fingerprints import settings_hashes
from r_eval.llms.json_text import FENCE
from r_eval.llms.reply import encode_body
from r_eval.text import clean
from r_eval.workflows.agent_messages import MODEL
from r_eval.workflows.agent_server import AgentEpisode, open_episode
from r_eval.workflows.answers import answered_after
from r_eval.workflows.base import (
    Demonstration,
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    ended,
    finished,
)

VARIABLES: Mapping[str, str] = {
    "OPENAI_BASE_URL": "base_url",
    "OPENAI_API_KEY": "api_key",
    "OPENAI_MODEL": "model",
    "R_EVAL_MCP_URL": "mcp_url",
    "R_EVAL_QUESTION": "question",
    "R_EVAL_INSTRUCTION": "instruction",
}
"""The environment variables of a program, and the keys of the same values in the JSON object on its standard input."""
MAX_VARIABLE = 20_000
"""Characters of a variable; standard input has longer questions in full."""
MAX_DETAIL = 300
TAIL = 100_000
"""Bytes at the end of standard output and of standard error that are read."""
MAX_OUTPUT = 16 << 20
"""Bytes that a program may write to each of the two."""
WATCH_SECONDS = 0.1
"""Interval between checks of their sizes."""
END_SECONDS = 1.0
"""Longest wait for the end of a killed process."""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\ufeff\0]")
"""What is not text in the output of a program: colours and movements of a terminal, marks and zeros of UTF-16."""
LINE_END = re.compile(r"[\r\n]+")
INTERPRETER = re.compile(r"(?:python|node|deno|bun|ruby|perl|bash|sh)[\d.]*")
SCRIPTS, NO_SCRIPT = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".sh"), {"-c", "-e", "-m"}
"""How the files end that an interpreter runs, and what says that it runs none."""
RUNNER = Path(__file__).with_name("agent_function.py")


class Agent(Workflow):
    """A user's own program.

    Args:
        command: The program and its arguments.
        function: A Python function instead: `file.py:function` or `module:function`.
        pass_env: Names of further environment variables to pass to the program.
    """

    last_chance: ClassVar[bool] = False

    def __init__(
        self, command: Sequence[str] | None = None, function: str | None = None, pass_env: Sequence[str] = ()
    ) -> None:
        """Find the program, which runs in a folder of its own: a command's files are absolute paths, as a grid's.

        Raises:
            ValueError: A setting is wrong, or the program does not exist.
            MissingExtra: The MCP SDK is not installed.
        """
        if (command is None) == (function is None):
            raise ValueError("expected either command: [python, my_agent.py] or function: my_agent.py:answer")
        if command is not None:
            if not isinstance(command, list | tuple) or not command or not all(isinstance(w, str) for w in command):
                raise ValueError(f"command must be a list of texts, not {command!r}")
            if shutil.which(command[0], path=search_path()) is None:
                raise ValueError(f"command: there is no program {command[0]}")
            words = itertools.takewhile(lambda word: word not in NO_SCRIPT, command[1:])
            script = next((word for word in words if word.endswith(SCRIPTS)), None)
            if script and INTERPRETER.fullmatch(Path(command[0]).name) and not is_file(Path(script)):
                raise ValueError(f"command: {script}: no such file")
        if function is not None:
            source, _, name = str(function).rpartition(":")
            if not source or not name.isidentifier():
                raise ValueError(f"expected function: my_agent.py:answer, not {function!r}")
            if source.endswith(".py"):
                if not is_file(Path(source)):
                    raise ValueError(f"function: {source}: no such file")
                if not re.search(rf"\b{name}\b|import \*", Path(source).read_text(encoding="utf-8", errors="replace")):
                    raise ValueError(f"function: {source} has no {name}")
                function = f"{Path(source).absolute()}:{name}"
        self.command, self.function = command and list(command), function
        self.pass_env = [pass_env] if isinstance(pass_env, str) else list(pass_env)
        if reserved := [name for name in self.pass_env if name in VARIABLES]:
            raise ValueError(f"pass_env: {reserved[0]} is set for each episode and cannot be passed on")
        try:
            importlib.import_module("mcp.server.streamable_http_manager")  # now: it takes a second
        except ImportError:
            raise MissingExtra("mcp", "mcp", "The workflow agent") from None

    def identity(self) -> dict[str, Any]:
        """A program is identified by the content of the files in its command, wherever they are."""
        source, _, name = (self.function or "").rpartition(":")
        hashes = settings_hashes({"command": self.command, "function": [source, name]}, "program")
        return {"program": hashes.pop("program"), "pass_env": self.pass_env, "code": hashes, "prompt": {}}

    def most_calls(self, limits: Limits) -> int:
        return limits.steps

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        command = self.command
        if command is None:
            source, _, name = (self.function or "").rpartition(":")
            command = [sys.executable, "-P", str(RUNNER), source, name]
        async with open_episode(session, llm, limits) as episode:
            payload = _payload(question, session, episode)
            variables = {name: clean(payload[key]).replace("\0", "")[:MAX_VARIABLE] for name, key in VARIABLES.items()}
            variables |= {name: os.environ[name] for name in self.pass_env if name in os.environ}
            variables |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
            async with start_program(command, variables, encode_body(payload)) as program:
                await episode.serve(program.wait())
                return _result(episode, program)


def _payload(question: TaskInput, session: SessionProtocol, episode: AgentEpisode) -> dict[str, Any]:
    """The JSON object on a program's standard input."""

    def example(shot: Demonstration) -> dict[str, Any]:
        calls = [
            {"thought": thought, "name": call.api, "arguments": call.arguments, "observation": call.observation}
            for thought, call in zip(shot.thoughts, shot.calls, strict=False)
        ]
        return {"question": shot.question, "calls": calls, "thought": shot.thoughts[-1], "answer": shot.answer}

    return {
        "question": question.text,
        "base_url": f"{episode.address}/v1",
        "api_key": episode.token,
        "model": MODEL,
        "mcp_url": f"{episode.address}/mcp/{episode.token}",
        "instruction": question.instruction,
        "domain": session.description,
        "demonstrations": [example(shot) for shot in question.demonstrations],
        "context": [{"title": document.title, "text": document.text} for document in question.context],
    }


def _result(episode: AgentEpisode, program: Program) -> WorkflowResult:
    """The result of a program that has ended or must end."""
    output, errors = program.output()
    failure = _failure(program, errors)
    answer, is_object = _parse_output(output)
    if failure and not is_object:
        answer = ""
    if episode.limit_reached is not None:
        if not answer:
            raise episode.limit_reached
        return answered_after(episode.limit_reached, answer)
    if answer:
        return finished(answer, "finish" if is_object else "text")
    return ended("gave_up", *(failure or ("no_answer", "the program ended without an answer")))


def _failure(program: Program, errors: str) -> tuple[str, str] | None:
    """The cause and a description of a program's failure; None if it succeeded."""
    if program.is_flooding:
        return "output", f"the program wrote more than {MAX_OUTPUT >> 20} MB"
    status = program.process.returncode
    if not status:
        return None
    description = f"exit status {status}" if status > 0 else f"signal {-status} ({signal.strsignal(-status)})"
    return "exit_status", f"{description}: {clean(' '.join(errors.split()))[-MAX_DETAIL:]}".removesuffix(": ")


def _parse_output(output: str) -> tuple[str, bool]:
    """The answer in a program's output, and whether it is the key of a JSON object: the last non-empty line, the end
    from the last line that begins with a brace, or all; otherwise the last line is the answer itself.
    """
    text = FENCE.sub("", CONTROL.sub("", output).strip()).strip()
    line = LINE_END.split(text)[-1].strip()
    for candidate in (line, text[text.rfind("\n{") + 1 :], text):
        with contextlib.suppress(ValueError):
            data = from_json(candidate)
            if isinstance(data, dict) and "answer" in data:
                answer = data["answer"]
                return clean("" if answer is None else answer_text(answer)).strip(), True
    return clean(line), False


@dataclasses.dataclass(frozen=True)
class Program:
    """A running program; `streams` are the file descriptors of its standard output and error."""

    process: asyncio.subprocess.Process
    streams: Sequence[int]

    @property
    def is_flooding(self) -> bool:
        """Whether it wrote more than `MAX_OUTPUT`."""
        return any(os.fstat(stream).st_size > MAX_OUTPUT for stream in self.streams)

    def output(self) -> list[str]:
        """The ends of its standard output and of its standard error."""
        return [
            os.pread(stream, TAIL, max(0, os.fstat(stream).st_size - TAIL)).decode("utf-8", "replace")
            for stream in self.streams
        ]

    async def wait(self) -> None:
        """Wait until it has ended or has written too much."""
        while self.process.returncode is None and not self.is_flooding:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), WATCH_SECONDS)


def search_path() -> str:
    """The PATH of programs: `python` is the one that runs R-Eval."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@contextlib.asynccontextmanager
async def start_program(command: Sequence[str], variables: Mapping[str, str], stdin: bytes) -> AsyncIterator[Program]:
    """A program in an empty folder; at the end of the context its group is killed and the folder deleted.

    Args:
        variables: Further environment variables.
        stdin: Its standard input.

    Raises:
        EnvironmentFailure: It cannot be started.
    """
    folder = tempfile.TemporaryDirectory(prefix="agent-", ignore_cleanup_errors=True)
    variables = {"PATH": search_path(), "HOME": folder.name, "TMPDIR": folder.name, "LANG": "C.UTF-8", **variables}
    with contextlib.ExitStack() as stack:
        source, output, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        source.write(stdin)
        source.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=source,
                stdout=output,
                stderr=errors,
                cwd=folder.name,
                env=variables,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            folder.cleanup()
            raise EnvironmentFailure(f"the program cannot be started: {error}") from error
        try:
            yield Program(process, (output.fileno(), errors.fileno()))
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), END_SECONDS)
            await threads.run(_clean_up, folder)


def _clean_up(folder: tempfile.TemporaryDirectory[str]) -> None:
    """Delete a program's folder; on Linux, first kill what left its process group, such as a browser that it started,
    known by the folder in its environment.
    """
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={folder.name}\0".encode() in environ.read_bytes():
                os.kill(int(environ.parent.name), signal.SIGKILL)
    folder.cleanup()

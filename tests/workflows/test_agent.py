"""Workflow agent: programs of the user's, each run as a process, through real episodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from r_eval import load_run
from r_eval.errors import UserError
from r_eval.grid import Grid
from r_eval.llms.base import Reply, Request, ToolCall
from r_eval.records import Document, Tokens
from r_eval.runner.plan import resolve
from r_eval.workflows.agent import VARIABLES, Agent
from r_eval.workflows.base import Workflow
from tests.workflow_contract import DEMONSTRATION, WorkflowContract
from tests.workflows.conftest import QUESTION, Play

pytest.importorskip("mcp", reason="the MCP SDK is not installed (extra: mcp)")
AGENTS = Path(__file__).parents[1] / "agents.py"


def function(name: str, **settings: Any) -> Agent:
    return Agent(function=f"{AGENTS}:{name}", **settings)


def script(folder: Path, text: str) -> Agent:
    (folder / "program.py").write_text(text, encoding="utf-8")
    return Agent(command=["python", str(folder / "program.py")])


def calling(request: Request) -> Reply:
    """Two calls at once, then the answer."""
    if any(message.role == "tool" for message in request.messages):
        return Reply("omelette", tokens=Tokens(prompt=20, completion=1))
    calls = (ToolCall("", "find_dish", {"name": "ome"}), ToolCall("", "ingredients", {"dish": "omelette"}))
    return Reply("I look.", calls, "tool_calls", Tokens(prompt=10, completion=5))


class TestAgent(WorkflowContract):
    """A function that does function calling passes what every workflow must."""

    def workflow(self) -> Workflow:
        return function("answer")


# What a program is handed, and what it answers


def test_every_call_is_recorded_in_its_order(play: Play) -> None:
    played = play(function("answer"), calling)
    assert (played.answer, played.outcome) == ("omelette", ("finished", "")), played.episode.outcome
    assert [(step.kind, step.api) for step in played.episode.steps] == [
        ("thought", None),
        ("call", "find_dish"),
        ("call", "ingredients"),
        ("thought", None),
        ("answer", None),
    ]
    assert [message.role for message in played.requests[1].messages] == ["system", "user", "assistant", "tool", "tool"]
    assert [message.content for message in played.requests[1].messages[3:]] == [c.observation for c in played.calls]
    assert (played.episode.usage.calls, played.episode.usage.prompt_tokens) == (2, 30)


def test_a_program_is_handed_the_question_and_two_addresses_and_nothing_else(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MY_SETTING", "ä"), ("MY_SECRET", "hidden"), ("OPENAI_API_KEY", "sk-real")):
        monkeypatch.setenv(name, value)
    question = QUESTION.model_copy(update={"context": [Document(title="A book", text="Eggs.")]})
    played = play(
        function("show_input", pass_env=["MY_SETTING", "UNSET"]), "", shown=[DEMONSTRATION], question=question
    )
    handed = json.loads(played.answer)
    keys, variables = handed["keys"], handed["variables"]
    assert (handed["files"], handed["folder"]) == ([], variables["HOME"])
    assert not Path(handed["folder"]).exists()
    assert variables.pop("MY_SETTING") == "ä"
    names = {"PATH", "HOME", "TMPDIR", "LANG", "NO_PROXY", "no_proxy"}
    assert variables.keys() == names | VARIABLES.keys()
    assert {name: variables[name] for name in VARIABLES} == {name: keys[key] for name, key in VARIABLES.items()}
    assert keys["api_key"] != "sk-real"
    assert (keys["question"], keys["instruction"]) == (question.question, "Answer in one word.")
    assert keys["context"] == [{"title": "A book", "text": "Eggs."}]
    ((shown,), domain) = keys["demonstrations"], keys["domain"]
    assert (shown["question"], shown["answer"]) == (DEMONSTRATION.question, *DEMONSTRATION.answers)
    assert [call["name"] for call in shown["calls"]] == ["find_dish", "ingredients"]
    assert domain
    assert keys.keys() == {*VARIABLES.values(), "domain", "demonstrations", "context"}


def test_a_coroutine_answers_and_what_it_prints_does_not_count(play: Play) -> None:
    assert play(function("asynchronous"), ["café Ωmega 日本"]).answer == "café Ωmega 日本"


@pytest.mark.parametrize(
    ("text", "answer", "outcome"),
    [
        ('print("working\\n\\n  ome lette \\n\\n")', "ome lette", ("finished", "")),
        ("""print('{"answer": "two\\\\nlines"}')""", "two\nlines", ("finished", "")),
        ("""print('{"answer": ["a", "b"]}')""", "a; b", ("finished", "")),
        ("""print('{"other": 1}')""", '{"other": 1}', ("finished", "")),
        ("print('{')", "{", ("finished", "")),
        ("""print('{\\n  "answer": "two\\\\nlines"\\n}')""", "two\nlines", ("finished", "")),
        ("""print('{"log": 1}\\n{\\n  "answer": "x"\\n}')""", "x", ("finished", "")),
        ("""print('```json\\n{"answer": "x"}\\n```')""", "x", ("finished", "")),
        ("""print('log\\n```\\n{"answer": "x"}\\n```')""", "x", ("finished", "")),
        ("print('```\\nx\\n```')", "x", ("finished", "")),
        ("""print('{"answer": ""}')""", "", ("gave_up", "no_answer")),
        ("""print('{"answer": null}')""", "", ("gave_up", "no_answer")),
        ("print(' ')", "", ("gave_up", "no_answer")),
        ("", "", ("gave_up", "no_answer")),
        ("print('half of a log'); raise SystemExit(3)", "", ("gave_up", "exit_status")),
        ("""print('{"answer": "x"}'); raise SystemExit(3)""", "x", ("finished", "")),
        ("import os; os.close(1)", "", ("gave_up", "no_answer")),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe caf\\xc3\\xa9')", "�� café", ("finished", "")),
        ("print('x' * 15_000_000, 'end', sep='\\n')", "end", ("finished", "")),
        ("import sys; sys.stdout.buffer.write('ome'.encode('utf-16'))", "\ufffd\ufffdome", ("finished", "")),
        ("print('\\ufeffworking 1 %\\rworking 99 %\\r\\x1b[1;32mome\\x1b[0mlette\\r')", "omelette", ("finished", "")),
    ],
)
def test_the_answer_is_the_last_line(
    play: Play, tmp_path: Path, text: str, answer: str, outcome: tuple[str, str]
) -> None:
    played = play(script(tmp_path, text), "")
    assert (played.answer, played.outcome) == (answer, outcome)


# Limits


@pytest.mark.parametrize(
    ("name", "limits", "answer", "kind", "thoughts", "calls", "notes"),
    [
        ("until_refused", {"steps": 3}, "400 limit_reached", "tool_misuse", 3, 0, 0),
        ("until_refused", {"calls": 2}, "400 limit_reached", "tool_misuse", 2, 0, 0),
        ("until_refused", {"tokens": 40}, "400 limit_reached", "tool_misuse", 3, 0, 0),
        ("looks_until_refused", {"steps": 2}, "16", "exhausted", 0, 16, 0),
        ("mistaken", {"steps": 4}, "5 limit_reached", "exhausted", 0, 0, 4),
    ],
    ids=["LLM calls", "calls of the grid", "tokens", "eight query API calls a step", "an invalid request is a step"],
)
def test_a_limit_is_an_error_for_the_program_which_may_still_answer(
    play: Play, name: str, limits: dict[str, int], answer: str, kind: str, thoughts: int, calls: int, notes: int
) -> None:
    played = play(function(name), "go on", **limits)
    outcome = kind, next(iter(limits))
    assert (played.answer, played.outcome) == (answer, outcome)
    assert [len(steps) for steps in (played.thoughts, played.calls, played.notes)] == [thoughts, calls, notes]
    if thoughts:
        played = play(function(name), "go on", **limits, last_chance=False)
        assert (played.answer, played.outcome, len(played.thoughts)) == ("", outcome, thoughts)


@pytest.mark.parametrize(
    ("name", "speaker", "limits", "outcome", "detail"),
    [
        ("stubborn", "go on", {"steps": 2}, ("tool_misuse", "steps"), "no answer within 2 LLM calls"),
        ("hangs", "", {"seconds": 1.0}, ("exhausted", "seconds"), "more than 1 s"),
        ("floods", "", {}, ("gave_up", "output"), "the program wrote more than 16 MB"),
        ("dies", "hello", {}, ("gave_up", "exit_status"), "signal 9 (Killed)"),
        ("raises", "hello", {}, ("gave_up", "exit_status"), "ValueError: the agent is broken: ß"),
    ],
)
def test_a_program_that_misbehaves_is_ended_with_its_cause(
    play: Play,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    speaker: Any,
    limits: dict[str, Any],
    outcome: tuple[str, str],
    detail: str,
) -> None:
    monkeypatch.setattr("r_eval.workflows.agent_server.GRACE_SECONDS", 0.5)
    played = play(function(name), speaker, **limits)
    assert (played.answer, played.outcome) == ("", outcome)
    assert detail in played.episode.outcome.detail


# Hostile programs


def test_children_end_with_the_episode(play: Play) -> None:
    played = play(function("forks"), "")
    children = [int(number) for number in played.answer.split()]
    assert len(children) == 5
    deadline = time.monotonic() + 5
    while any(_runs(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(child) for child in children)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


# In a grid

SPEAKER = """
import os
from pathlib import Path

MADE = Path(__file__).with_name("made")


def speak(request):
    text = request.messages[-1]["content"]
    with MADE.open("a", encoding="utf-8") as file:
        file.write(text + "\\n")
    if text == "third" and MADE.read_text(encoding="utf-8").count("third") == 1:
        os._exit(9)
    return text.upper()
"""
THREE = """
from agents import Client


def answer(base_url, api_key, mcp_url):
    client = Client(base_url, api_key, mcp_url)
    return " ".join(client.chat(text)["content"] for text in ("first", "second", "third"))
"""


def test_after_a_crash_replies_are_replayed_and_the_rest_is_made(tmp_path: Path) -> None:
    for name, text in (("speaker", SPEAKER), ("three", THREE), ("agents", AGENTS.read_text(encoding="utf-8"))):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    code = """
from r_eval import Grid, run
agent = {"workflow": "agent", "function": "three.py:answer"}
llms, tasks = ["scripted/speaker.py:speak"], ["wiki/high-freq"]
grid = Grid(workflows=[agent], llms=llms, tasks=tasks, samples=1, shots=0)
run(grid, out="run")
"""
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    for status in (9, 0):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, check=False
        )
        assert done.returncode == status, done.stderr
    (episode,) = load_run(tmp_path / "run").episodes()
    assert episode.answer == "FIRST SECOND THIRD"
    assert [step.replayed for step in episode.steps if step.kind == "thought"] == [True, True, False]
    assert (tmp_path / "made").read_text(encoding="utf-8").split() == ["first", "second", "third", "third"]


def cells(folder: Path, *entries: dict[str, Any]) -> list[Any]:
    workflows = [{"workflow": "agent", **entry} for entry in entries]
    grid = Grid(workflows=workflows, llms=["openai/m"], tasks=["wiki/high-freq"], samples=1, folder=folder)
    return list(resolve(grid).cells)


@pytest.mark.parametrize("entry", [{"command": ["python", "mine.py"]}, {"function": "mine.py:answer"}])
def test_a_program_is_found_from_the_grids_folder_and_counts_by_its_content(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    fingerprints = []
    for folder, text in (("a", "answer = 1"), ("b", "answer = 1"), ("c", "answer = 2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(text, encoding="utf-8")
        (cell,) = cells(tmp_path / folder, entry)
        assert str(tmp_path / folder / "mine.py") in str(cell.workflow.settings())
        fingerprints.append(cell.fingerprint)
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "expected either command"),
        ({"command": ["python"], "function": "a.py:b"}, "expected either command"),
        ({"command": "python mine.py"}, "command must be a list of texts"),
        ({"command": []}, "command must be a list of texts"),
        ({"command": ["no-such-program-here"]}, "there is no program no-such-program-here"),
        ({"command": ["python", "agnt.py"]}, "command: agnt.py: no such file"),
        ({"command": [sys.executable, "-X", "dev", "代理.py", "--fast"]}, "command: 代理.py: no such file"),
        ({"command": ["sh", "/no/agent.sh", "my.py"]}, "command: /no/agent.sh: no such file"),
        ({"function": "mine.py"}, "expected function: my_agent.py:answer"),
        ({"function": "none.py:answer"}, "none.py: no such file"),
        ({"function": f"{AGENTS}:anser"}, "agents.py has no anser"),
        ({"command": ["python"], "pass_env": ["OPENAI_API_KEY"]}, "OPENAI_API_KEY is set for each episode"),
        ({"command": ["python"], "beam": 2}, "unknown setting 'beam'"),
    ],
)
def test_settings_that_lead_to_no_program_are_refused(tmp_path: Path, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        cells(tmp_path, entry)

"""No answered LLM call is made again: the journal of a run."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from r_eval.llms.base import Message, Reply, Request, ToolCall
from r_eval.llms.replies import Journal, ReplyStore
from r_eval.records import Tokens

SCRIPT = """
    import os, pathlib, signal

    HERE = pathlib.Path(__file__).parent
    SAYS = ["Action 1: Search[Kenya]", "Action 2: Lookup[capital]", "Action 3: Finish[Nairobi]"]

    def answer(request):
        asked = next(m.content for m in reversed(request.messages) if m.content.startswith("Question"))
        begin = [m.content for m in request.messages].index(asked)
        turn = sum(m.role == "assistant" for m in request.messages[begin:])
        with open(HERE / "calls.txt", "a", encoding="utf-8") as log:
            log.write(f"{asked}|{turn}\\n")
        if turn == 2 and not (HERE / "killed").exists():
            (HERE / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return SAYS[turn]
"""

GRID = """
    llms: [{llm: "scripted/llm.py:answer", connections: 1}]
    workflows: [react]
    tasks: [wiki/high-freq]
    samples: 3
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A run that was killed while the third call of an episode was under way."""
    (tmp_path / "llm.py").write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    (tmp_path / "grid.yaml").write_text(textwrap.dedent(GRID), encoding="utf-8")
    assert run(tmp_path) == -9
    return tmp_path


def run(folder: Path) -> int:
    executable = str(Path(sys.executable).with_name("r-eval"))
    done = subprocess.run(
        [executable, "run", "grid.yaml", "--quiet"], cwd=folder, capture_output=True, timeout=60, check=False
    )
    return done.returncode


def test_after_a_kill_only_the_unanswered_call_is_made_again(killed: Path) -> None:
    assert run(killed) == 0
    made = Counter((killed / "calls.txt").read_text(encoding="utf-8").splitlines())
    assert sorted(made.values()) == [1] * 8 + [2]


def test_the_calls_that_were_answered_are_in_the_journal_after_a_kill(killed: Path) -> None:
    store = ReplyStore(killed / "runs" / "grid" / "journal.sqlite")
    assert store.count() == 2
    store.close()


def test_a_run_that_is_complete_has_no_journal(killed: Path) -> None:
    run(killed)
    assert list((killed / "runs" / "grid").glob("journal*")) == []


REPLY = Reply(
    "Kenya \ud800", (ToolCall("1", "Search", {"entity": "Ñ"}),), "tool_calls", Tokens(prompt=3), True, "hm", 2
)
ASKED = Request((Message("user", "Where?"),))


def test_a_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    store.put("key", "owner", REPLY, 1.5)
    assert store.get("key") == (REPLY, 1.5)


def test_the_same_request_made_twice_in_an_episode_has_two_keys(tmp_path: Path) -> None:
    journal = Journal(ReplyStore(tmp_path / "replies.sqlite"), "episode", "scope")
    assert journal.key(ASKED) != journal.key(ASKED)


def test_another_fingerprint_has_another_key(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    assert Journal(store, "episode", "one").key(ASKED) != Journal(store, "episode", "two").key(ASKED)


def test_an_owner_is_forgotten_as_a_whole(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path / "replies.sqlite")
    store.put("a", "one", REPLY, 0.0)
    store.put("b", "two", REPLY, 0.0)
    store.forget("one")
    assert (store.get("a"), store.count()) == (None, 1)

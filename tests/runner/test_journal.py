"""No answered LLM call is made again: the journal of a run."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from r_eval import UserError
from r_eval.llms import journal
from r_eval.llms.base import Message, Reply, Request, ToolCall, ToolSpec
from r_eval.llms.journal import ReplyLog
from r_eval.llms.replies import Journal
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
        [executable, "run", "grid.yaml", "--quiet"], cwd=folder, capture_output=True, timeout=300, check=False
    )
    return done.returncode


def test_after_a_kill_only_the_unanswered_call_is_made_again(killed: Path) -> None:
    assert run(killed) == 0
    made = Counter((killed / "calls.txt").read_text(encoding="utf-8").splitlines())
    assert sorted(made.values()) == [1] * 8 + [2]


def test_the_calls_that_were_answered_are_in_the_journal_after_a_kill(killed: Path) -> None:
    store = ReplyLog(killed / "runs" / "grid" / "journal.jsonl")
    assert store.count() == 2
    store.close()


def test_a_run_that_is_complete_has_no_journal(killed: Path) -> None:
    run(killed)
    assert list((killed / "runs" / "grid").glob("journal*")) == []


REPLY = Reply(
    "Kenya \ud800", (ToolCall("1", "Search", {"entity": "Ñ"}),), "tool_calls", Tokens(prompt=3), True, "hm", 2
)
ASKED = Request((Message("user", "Where?"),))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def opened(path: Path) -> ReplyLog:
    """The journal as another process finds it."""
    return ReplyLog(path)


def test_a_reply_comes_back_as_it_was(path: Path) -> None:
    log = opened(path)
    log.put("key", "owner", REPLY, 1.5)
    assert log.get("key") == opened(path).get("key") == (REPLY, 1.5)


def test_everything_of_an_episode_is_found_by_its_key(path: Path) -> None:
    log = opened(path)
    for key in ("a", "b"):
        log.put(key, "one", REPLY, 0.0)
    log.put("c", "two", REPLY, 0.0)
    assert opened(path).of("one") == {"a": (REPLY, 0.0), "b": (REPLY, 0.0)}


def test_an_episode_is_forgotten_as_a_whole_and_for_good(path: Path) -> None:
    log = opened(path)
    log.put("a", "one", REPLY, 0.0)
    log.put("b", "two", REPLY, 0.0)
    log.forget("one")
    for found in (log, opened(path)):
        assert (found.get("a"), found.holds("one"), found.holds("two"), found.count()) == (None, False, True, 1)


def test_a_torn_last_line_is_no_reply(path: Path) -> None:
    log = opened(path)
    log.put("a", "one", REPLY, 0.0)
    log.put("b", "one", REPLY, 0.0)
    path.write_bytes(path.read_bytes()[:-5])
    again = opened(path)
    again.put("c", "one", REPLY, 0.0)
    assert set(opened(path).of("one")) == set(again.of("one")) == {"a", "c"}


def test_a_damaged_journal_is_named_with_what_to_do(path: Path) -> None:
    path.write_bytes(b"no journal\n{}\n")
    with pytest.raises(UserError, match=r"is damaged .* delete it"):
        opened(path)


def test_a_journal_does_not_grow_with_what_is_forgotten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LARGEST", 4000)
    log = opened(path)
    log.put("kept", "under way", REPLY, 2.5)
    for number in range(200):
        log.put(f"key {number}", f"episode {number}", REPLY, 0.0)
        log.forget(f"episode {number}")
        assert path.stat().st_size < 5000
    log.put("later", "under way", REPLY, 0.0)
    for found in (log, opened(path)):
        assert found.of("under way") == {"kept": (REPLY, 2.5), "later": (REPLY, 0.0)}


def test_the_same_request_made_twice_in_an_episode_has_two_keys(path: Path) -> None:
    calls = Journal(opened(path), "episode", "scope")
    assert calls.key(ASKED) != calls.key(ASKED)


def test_another_fingerprint_has_another_key(path: Path) -> None:
    log = opened(path)
    assert Journal(log, "episode", "one").key(ASKED) != Journal(log, "episode", "two").key(ASKED)


@pytest.mark.parametrize(
    "other",
    [
        Request((Message("user", "Where is it?"),)),
        Request((Message("system", "Where?"),)),
        Request((Message("user", "Where?"), Message("user", "Where?"))),
        Request((Message("user", "Where?", (ToolCall("1", "Search", {"entity": "x"}),)),)),
        Request((Message("user", "Where?"),), stop=("x",)),
        Request((Message("user", "Where?"),), max_tokens=5),
        Request((Message("user", "Where?"),), tools=(ToolSpec("Search", "Find.", {}),)),
        Request((Message("user", "Where?"),), tool_choice="required"),
    ],
)
def test_another_request_has_another_key(path: Path, other: Request) -> None:
    log = opened(path)
    assert Journal(log, "episode", "one").key(ASKED) != Journal(log, "episode", "one").key(other)


def test_equal_requests_have_one_key_however_they_were_made(path: Path) -> None:
    log = opened(path)
    again = Request((Message("user", "Where?"),))
    assert Journal(log, "episode", "one").key(ASKED) == Journal(log, "episode", "one").key(again)

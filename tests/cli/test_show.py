"""`r-eval show`: which episodes it lists, what a transcript has, and that nothing in either acts on the terminal."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval import Grid, run
from r_eval.cli.options import harmless
from r_eval.cli.show import transcript
from r_eval.records import Outcome, Seconds, SentMessage, Step, Tokens, Usage
from tests.analysis.conftest import call, episode
from tests.commands import typed_here

LLM = """
def reply(request):
    if request.messages[-1].content.startswith("Question:"):
        return 'Thought: \\x1b[31mLook.\\nAction: searchPerson(name="Åse 東京")'
    return "Action: Finish[Ada\\u202e]"
"""
GRID = """
llms: [{llm: scripted/./llm.py:reply, name: known}]
workflows: [react, oracle]
tasks: [aminer/soay-easy, aminer/soay-hard]
samples: 3
shots: 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, scored."""
    path = tmp_path_factory.mktemp("ran")
    (path / "llm.py").write_text(LLM, encoding="utf-8")
    (path / "grid.yaml").write_text(GRID, encoding="utf-8")
    assert run(Grid.load(path / "grid.yaml"), path / "runs" / "grid").state == "complete"
    return path


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """The run in a folder that may be changed."""
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy"


def show(folder: Path, *words: str, status: int = 0) -> str:
    done = typed_here(["show", "runs/grid", *words], folder)
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def rows(folder: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(show(folder, *words, "--json"))
    return found


def test_the_list_has_a_line_for_every_episode(folder: Path) -> None:
    head, *lines, last = show(folder).splitlines()
    assert head.split() == ["id", "system", "task", "condition", "score", "type", "cause", "answer"]
    assert len(lines) == 12
    assert last == "12 episodes; r-eval show runs/grid ID prints a transcript"
    first = next(line for line in lines if "react+known" in line).split()
    assert first[1:6] == ["react+known", "aminer/soay-easy", "clean", "0.0", "RE"]
    assert first[-1] == "Ada\\u202e"


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (("--type", "re"), 6),
        (("--type", "EM"), 6),
        (("--type", "RE", "--type", "EM"), 12),
        (("--type", "TE"), 0),
        (("--task", "aminer/soay-easy"), 6),
        (("--task", "*hard", "--system", "oracle+*"), 3),
    ],
)
def test_filters_hold_together(folder: Path, words: tuple[str, ...], number: int) -> None:
    assert len(rows(folder, *words)) == number
    assert f"{number} episodes; r-eval show" in show(folder, *words)


def test_a_unique_beginning_names_an_episode(folder: Path) -> None:
    ids = [row["episode_id"] for row in rows(folder)]
    for number in range(1, 17):
        if sum(key.startswith(ids[0][:number]) for key in ids) == 1:
            assert show(folder, ids[0][:number]) == show(folder, ids[0])
            break
    text = show(folder, ids[0])
    assert 'searchPerson(name="Åse 東京")\n      0 results.\n' in text
    assert "\x1b" not in text
    assert "\\u001b[31mLook." in text
    assert "finished\ntoken_f1 0.0, response type RE (reasoning error)" in text


def test_a_wrong_id_names_near_ones_and_a_short_one_the_ids_it_begins(folder: Path) -> None:
    ids = [row["episode_id"] for row in rows(folder)]
    wrong = ids[0][:-1] + ("0" if ids[0][-1] != "0" else "1")
    assert f"Did you mean {ids[0]}" in show(folder, wrong, status=2)
    start = next(key[0] for key in ids if sum(other[0] == key[0] for other in ids) > 1)
    said = show(folder, start, status=2)
    assert f"episodes begin with {start}: " in said
    assert all(key in said for key in ids if key[0] == start)


def test_a_transcript_needs_no_other_line_to_be_whole(copy: Path) -> None:
    key = rows(copy)[0]["episode_id"]
    for path in (copy / "runs" / "grid" / "episodes").rglob("*.jsonl"):
        lines = path.read_text("utf-8").splitlines()
        kept = [
            line if key in line else f'{{"schema":1,"episode_id":"{n:016x}", damaged' for n, line in enumerate(lines)
        ]
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    text = show(copy, key)
    assert text.startswith(f"{key}  react+known  aminer/soay-easy  clean\n")
    assert "not scored yet: r-eval score runs/grid" in text, "the kept score is older than the episodes"


def test_of_an_episode_that_was_tried_again_the_newest_line_is_shown(copy: Path) -> None:
    row = rows(copy)[0]
    path = next(p for p in (copy / "runs/grid/episodes").rglob("*.jsonl") if row["episode_id"] in p.read_text("utf-8"))
    line = next(one for one in path.read_text("utf-8").splitlines() if row["episode_id"] in one)
    record = json.loads(line) | {"answer": "Grace", "checksum": ""}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, separators=(",", ":")) + "\n")
    assert [one["answer"] for one in rows(copy) if one["episode_id"] == row["episode_id"]] == ["Grace"]
    found = json.loads(show(copy, row["episode_id"], "--json"))
    assert found["episode"]["answer"] == "Grace"
    assert found["episode"]["episode_id"] == found["score"]["episode_id"] == row["episode_id"]


def test_prompt_prints_the_messages_that_were_sent(folder: Path) -> None:
    text = show(folder, rows(folder)[0]["episode_id"], "--prompt")
    assert "\n      sent " in text
    assert "\n      [0] system\n      AMiner, a database of scholars" in text
    assert text.count("      AMiner, a database of scholars") == 1
    assert "Observation 1: 0 results." in text


# A transcript

ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0001]")
SCORE = {"score": 0.0, "metric": "token_f1", "response_type": "RE", "undecided": False, "cause": "empty_search"}


def text_of(score: dict[str, Any] | None = None, with_messages: bool = False, **changes: Any) -> str:
    messages = changes.pop("messages", [])
    changed = episode(**changes).model_copy(update={"messages": messages})
    return "".join(f"{line}\n" for line in transcript(changed, score, with_messages))


@given(st.text())
def test_no_text_acts_on_the_terminal(text: str) -> None:
    assert not ACTING.search(harmless(text))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31m\r\x9b", "\\u001b[31m\\u000d\\u009b"),
        ("\u202egnp a\u2028b", "\\u202egnp a\\u2028b"),
        ("\U000e0001 \ud800", "\\U000e0001 \\ud800"),
        ("a\tb\nc é 東京 😀", "a\tb\nc é 東京 😀"),
    ],
)
def test_control_and_direction_characters_become_visible_signs(text: str, seen: str) -> None:
    assert harmless(text) == seen


@pytest.mark.parametrize(
    ("step", "lines"),
    [
        (
            Step(kind="thought", text="Look.", seconds=1.234, tokens=Tokens(prompt=1400, completion=30), depth=2),
            "  1 thought (depth 2, 1,400 + 30 tokens, 1.23 s)  Look.\n",
        ),
        (Step(kind="thought", text="Cut", error="length", replayed=True), "  1 thought (length, replayed)  Cut\n"),
        (Step(kind="thought", text="Yes.", reasoning="Hm"), "thought  Yes.\n      reasoning: Hm\n"),
        (Step(kind="thought", text=""), "  1 thought  (nothing)\n"),
        (
            call("There is no page.", "not_found", entity="Kenya", n=3),
            '  1 call  Search(entity="Kenya", n=3)  not_found\n      There is no page.\n',
        ),
        (Step(kind="answer", text="", error="unparsed"), "  1 answer  none\n"),
    ],
)
def test_a_step_says_what_it_was_and_what_it_took(step: Step, lines: str) -> None:
    assert lines in text_of(steps=[step])


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"steps": [call("Nothing here."), call("The capital is Nairobi.")]}, "evidence in step 2: Nairobi\n"),
        ({"evidence": ["Lake T"], "steps": [call("Nairobi, south of Lake T")]}, "evidence in step 1: Lake T\n"),
        ({"steps": [call("Mombasa.")]}, "evidence in no observation: Nairobi\n"),
        (
            {"steps": [Step(kind="thought", text="Nairobi."), call("No Nairobi.", "not_found", entity="Nairobi")]},
            "evidence in no observation: Nairobi\n",
        ),
    ],
)
def test_evidence_is_found_in_observations_alone(changes: dict[str, Any], found: str) -> None:
    assert found in text_of(**changes)


def test_each_message_is_printed_once_before_the_reply_to_it() -> None:
    messages = [
        SentMessage(role="system", content="Answer 東京."),
        SentMessage(role="user", content="Question: Where?"),
        SentMessage(role="assistant", content="", calls=[{"name": "Search"}]),
    ]
    steps = [Step(kind="thought", text="One.", request=[0, 1]), Step(kind="thought", text="Two.", request=[0, 1, 2])]
    assert (
        "      sent 2 messages\n      [0] system\n      Answer 東京.\n      [1] user\n      Question: Where?\n"
        "  1 thought  One.\n"
        '      sent 3 messages, 2 of them as before\n      [2] assistant\n      {"name": "Search"}\n'
        "  2 thought  Two.\n"
    ) in text_of(None, True, steps=steps, messages=messages)


def test_the_end_says_the_score_the_type_the_cause_and_what_it_took() -> None:
    text = text_of(
        SCORE,
        outcome=Outcome(kind="exhausted", cause="steps"),
        usage=Usage(calls=2, prompt_tokens=1400, completion_tokens=60, cost=0.00123),
        seconds=Seconds(total=2.5, llm=2.0),
    )
    assert "\nexhausted steps\ntoken_f1 0.0, response type RE (reasoning error)\n" in text
    assert "cause: A call found nothing. (empty_search)\n" in text
    assert "2 LLM calls, 1,400 prompt tokens (0 cached), 60 completion tokens, 0.00123 USD, 2.50 s" in text

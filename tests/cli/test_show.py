"""`r-eval show`: which episodes it lists, what a transcript has, and that nothing in either acts on the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval import Grid, run
from r_eval.cli.options import harmless
from r_eval.cli.show import transcript
from r_eval.records import Outcome, Seconds, Step, Tokens, Usage
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


def test_prompt_prints_the_messages_that_were_sent(folder: Path) -> None:
    text = show(folder, rows(folder)[0]["episode_id"], "--prompt")
    assert "\n      sent " in text
    assert "\n      [0] system\n      AMiner, a database of scholars" in text
    assert text.count("      AMiner, a database of scholars") == 1
    assert "Observation 1: 0 results." in text


# A transcript

ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0001]")


@given(st.text())
def test_no_text_acts_on_the_terminal(text: str) -> None:
    assert not ACTING.search(harmless(text))


def test_a_transcript_says_what_each_step_and_the_end_took() -> None:
    steps = [
        Step(kind="thought", text="Look.", seconds=1.234, tokens=Tokens(prompt=1400, completion=30), depth=2),
        Step(kind="thought", text="Cut", error="length", replayed=True, reasoning="Hm"),
        call("There is no page.", "not_found", entity="Kenya", n=3),
        Step(kind="answer", text="", error="unparsed"),
    ]
    took = {"usage": Usage(calls=2, prompt_tokens=1400, cost=0.00123), "seconds": Seconds(total=2.5, llm=2.0)}
    score = {"score": 0.0, "metric": "token_f1", "response_type": "RE", "undecided": False, "cause": "empty_search"}
    made = episode(steps=steps, outcome=Outcome(kind="exhausted", cause="steps"), **took)
    _, lines = "\n".join(transcript(made, score)).split("\n\n", 1)
    assert (
        lines
        == """\
  1 thought (depth 2, 1,400 + 30 tokens, 1.23 s)  Look.
  2 thought (length, replayed)  Cut
      reasoning: Hm
  3 call  Search(entity="Kenya", n=3)  not_found
      There is no page.
  4 answer  none

exhausted steps
token_f1 0.0, response type RE (reasoning error)
cause: A call found nothing. (empty_search)
2 LLM calls, 1,400 prompt tokens (0 cached), 0 completion tokens, 0.00123 USD, 2.50 s (2.00 s in the LLM)"""
    )

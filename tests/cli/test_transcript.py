"""A transcript in the terminal: its steps, where the evidence is, and nothing in it that acts."""

from __future__ import annotations

import io
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from r_eval.cli.transcript import LONGEST, harmless, print_whole, transcript
from r_eval.records import Outcome, Seconds, Step, Tokens, Usage
from tests.analysis.conftest import call, episode

ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0001]")
SCORE = {"score": 1.0, "metric": "token_f1", "response_type": "EM", "undecided": False, "why": ""}


def shown(full: bool = False, score: dict[str, Any] | None = None, **changes: Any) -> str:
    return transcript(episode(**changes), score, full).plain


def printed(text: Any, width: int = 60, terminal: bool = True) -> str:
    out = io.StringIO()
    print_whole(Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False), text)
    return out.getvalue()


# harmless


@given(st.text())
def test_no_text_acts_on_the_terminal(text: str) -> None:
    assert not ACTING.search(harmless(text))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31m", "\\u001b[31m"),
        ("\u202egnp", "\\u202egnp"),
        ("a\u2028b", "a\\u2028b"),
        ("\r\x9b", "\\u000d\\u009b"),
        ("\U000e0001", "\\U000e0001"),
        ("\ud800", "\\ud800"),
        ("a\tb\nc é 東京 😀", "a\tb\nc é 東京 😀"),
    ],
)
def test_control_and_direction_characters_become_visible_signs(text: str, seen: str) -> None:
    assert harmless(text) == seen


def test_a_long_text_is_cut_with_its_length() -> None:
    text = harmless("x" * 1_000_000)
    assert text.startswith("x" * LONGEST + " [… 996,000 more characters; --full")
    assert harmless("x" * 1_000_000, None) == "x" * 1_000_000


# the steps


def test_a_step_says_what_it_took() -> None:
    steps = [
        Step(kind="thought", text="Look.", seconds=1.234, tokens=Tokens(prompt=1400, completion=30), depth=2),
        Step(kind="thought", text="Cut", error="length"),
    ]
    text = shown(steps=steps)
    assert "  1 thought (depth 2, 1,400 + 30 tokens, 1.23 s)  Look.\n" in text
    assert "  2 thought (length)  Cut\n" in text


def test_a_call_shows_its_arguments_and_its_error() -> None:
    text = shown(steps=[call("There is no page.", "not_found", entity="Kenya", n=3)])
    assert '  1 call  Search(entity="Kenya", n=3)  not_found\n      There is no page.\n' in text


def test_reasoning_stands_below_its_reply() -> None:
    assert "thought  Yes.\n      reasoning: Hm\n" in shown(steps=[Step(kind="thought", text="Yes.", reasoning="Hm")])


def test_an_empty_reply_is_called_nothing() -> None:
    assert "  1 thought  (nothing)\n" in shown(steps=[Step(kind="thought", text="")])


# evidence


def test_the_observation_that_holds_the_gold_says_so() -> None:
    text = shown(steps=[call("Nothing here."), call("The capital is Nairobi.")])
    assert "The capital is Nairobi.\n      ^ holds Nairobi\n" in text
    assert "evidence in step 2: Nairobi\n" in text


def test_evidence_is_marked_in_the_observation() -> None:
    text = transcript(episode(steps=[call("a\nThe city of NAIROBI, in Kenya")]), None)
    marked = [text.plain[span.start : span.end] for span in text.spans if "green" in str(span.style)]
    assert marked[0] == "NAIROBI"


def test_named_evidence_goes_before_the_gold() -> None:
    text = shown(evidence=["Lake Turkana"], steps=[call("Nairobi lies south of Lake Turkana.")])
    assert "evidence  Lake Turkana\n" in text
    assert "^ holds Lake Turkana\n" in text
    assert "^ holds Nairobi" not in text


def test_evidence_that_was_not_seen_is_said_to_be_missing() -> None:
    assert "evidence in no observation: Nairobi\n" in shown(steps=[call("Mombasa.")])


def test_what_a_model_wrote_is_no_evidence() -> None:
    steps = [Step(kind="thought", text="Nairobi."), call("I could not find Nairobi.", "not_found", entity="Nairobi")]
    assert "evidence in no observation: Nairobi\n" in shown(steps=steps)


def test_a_gold_that_is_in_any_text_by_chance_proves_nothing() -> None:
    assert "yes (in any text by chance, so that it proves nothing)" in shown(golds=["yes"], steps=[call("yes")])


def test_evidence_beyond_what_is_shown_is_quoted_with_its_place() -> None:
    text = shown(steps=[call("word " * 200_000 + "the city of Nairobi is the capital")])
    assert "^ holds Nairobi, at character 1,000,013: … rd word word" in text
    assert "the city of Nairobi is the capital …\n" in text
    assert len(text) < LONGEST + 3000


def test_full_shows_a_text_of_a_megabyte_in_a_few_seconds() -> None:
    before = time.process_time()
    found = transcript(episode(steps=[call("word " * 200_000 + "Nairobi")]), None, full=True)
    assert len(printed(found, terminal=False)) > 1_000_000
    assert time.process_time() - before < 20


# the end


def test_the_end_says_the_score_the_type_and_the_cause() -> None:
    text = shown(score=SCORE | {"score": 0.0, "response_type": "RE", "why": "empty_search"}, steps=[])
    assert "\nfinished\ntoken_f1 0.0, response type RE (reasoning error)\n" in text
    assert "cause: The calls found nothing. (empty_search)\n" in text


def test_the_end_says_what_the_episode_took() -> None:
    usage = Usage(calls=2, prompt_tokens=1400, completion_tokens=60, cost=0.00123)
    text = shown(usage=usage, seconds=Seconds(total=2.5, llm=2.0), outcome=Outcome(kind="exhausted", cause="steps"))
    assert "2 LLM calls, 1,400 prompt tokens (0 cached), 60 completion tokens, 0.00123 USD, 2.50 s" in text
    assert "\nexhausted steps\n" in text


# as it is printed


def test_in_a_terminal_long_lines_are_broken_and_stay_indented() -> None:
    lines = printed(transcript(episode(steps=[call("many words " * 30)]), None)).split("\n")
    inside = [line for line in lines if "many words" in line]
    assert len(inside) > 5
    assert all(line.startswith("      many") or line.startswith("      words") for line in inside)
    assert all(len(line) <= 60 for line in lines)


def test_wide_characters_are_broken_by_their_width() -> None:
    lines = printed(transcript(episode(steps=[call("東京都は日本の首都" * 20)]), None)).split("\n")
    assert all(Console().measure(line).maximum <= 60 for line in lines)


def test_elsewhere_lines_stay_whole() -> None:
    text = printed(transcript(episode(steps=[call("many words " * 30)]), None), terminal=False)
    assert "      " + "many words " * 30 in text


@given(st.text(max_size=200), st.integers(10, 100))
def test_nothing_is_lost_when_lines_are_broken(observation: str, width: int) -> None:
    found = transcript(episode(steps=[call(observation)]), SCORE)
    assert re.sub(r"\s", "", printed(found, width)) == re.sub(r"\s", "", found.plain)

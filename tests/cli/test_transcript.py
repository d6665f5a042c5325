"""A transcript in the terminal: its steps, where the evidence is, the messages sent, and nothing in it that acts."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from r_eval.cli.transcript import harmless, print_transcript, transcript
from r_eval.records import Episode, Outcome, Seconds, SentMessage, Step, Tokens, Usage
from tests.analysis.conftest import call, episode

ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0001]")
HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp.exe\u202c \u200bzero\r[bold]markup[/bold] \u2066x\x9b2J"
SCORE = {"score": 1.0, "metric": "token_f1", "response_type": "EM", "undecided": False, "cause": ""}


def text_of(score: dict[str, Any] | None = None, **changes: Any) -> str:
    return transcript(episode(**changes), score).plain


def printed(text: Any, width: int = 60, terminal: bool = True) -> str:
    out = io.StringIO()
    print_transcript(Console(file=out, width=width, force_terminal=terminal, color_system=None, highlight=False), text)
    return out.getvalue()


# nothing acts on the terminal


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


def test_no_field_of_an_episode_acts_on_the_terminal() -> None:
    texts = ("episode_id", "question_id", "task", "domain", "workflow", "llm", "condition", "question", "answer")
    steps = [
        {"kind": "call", "api": HOSTILE, "arguments": {HOSTILE: HOSTILE}, "observation": HOSTILE, "error": HOSTILE},
        *(
            {"kind": kind, "text": HOSTILE, "error": HOSTILE, "request": [0]}
            for kind in ("thought", "observation", "answer")
        ),
    ]
    outcome = {"kind": "exhausted", "cause": HOSTILE, "detail": HOSTILE, "traceback": HOSTILE}
    record = {**dict.fromkeys(texts, HOSTILE), "level": "KS", "golds": [HOSTILE], "outcome": outcome, "steps": steps}
    score = {**SCORE, "metric": HOSTILE, "cause": HOSTILE}
    record["messages"] = [{"role": HOSTILE, "name": HOSTILE, "content": HOSTILE, "calls": [{HOSTILE: HOSTILE}]}]
    plain = transcript(Episode.model_validate(record), score, with_messages=True).plain
    assert not ACTING.search(plain.replace("\n", "").replace("\t", ""))
    assert plain.count("[bold]markup[/bold]") >= 12


# the steps


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


# evidence


@pytest.mark.parametrize(
    ("changes", "found", "missing"),
    [
        (
            {"steps": [call("Nothing here."), call("The capital is Nairobi.")]},
            "evidence in step 2: Nairobi\n",
            "step 1",
        ),
        ({"steps": [call("The capital is Nairobi.")]}, "The capital is Nairobi.\n      ^ holds Nairobi\n", "in no"),
        (
            {"evidence": ["Lake Turkana"], "steps": [call("Nairobi lies south of Lake Turkana.")]},
            "^ holds Lake Turkana\n",
            "^ holds Nairobi",
        ),
        ({"steps": [call("Mombasa.")]}, "evidence in no observation: Nairobi\n", "^"),
        (
            {"steps": [Step(kind="thought", text="Nairobi."), call("No Nairobi.", "not_found", entity="Nairobi")]},
            "evidence in no observation: Nairobi\n",
            "^",
        ),
    ],
    ids=["in a step", "below its observation", "named evidence first", "not seen", "what the model wrote is none"],
)
def test_evidence_is_found_in_observations_alone(changes: dict[str, Any], found: str, missing: str) -> None:
    text = text_of(**changes)
    assert found in text
    assert missing not in text


# the messages


def test_each_message_is_printed_once_before_the_reply_to_it() -> None:
    messages = [
        SentMessage(role="system", content="Answer 東京."),
        SentMessage(role="user", content="Question: Where?"),
        SentMessage(role="assistant", content="", calls=[{"name": "Search"}]),
    ]
    steps = [Step(kind="thought", text="One.", request=[0, 1]), Step(kind="thought", text="Two.", request=[0, 1, 2])]
    changed = episode(steps=steps).model_copy(update={"messages": messages})
    plain = transcript(changed, None, with_messages=True).plain
    assert (
        "      sent 2 messages\n      [0] system\n      Answer 東京.\n      [1] user\n      Question: Where?\n"
        "  1 thought  One.\n"
        '      sent 3 messages, 2 of them as before\n      [2] assistant\n      {"name": "Search"}\n'
        "  2 thought  Two.\n"
    ) in plain


# the outcome


def test_the_end_says_the_score_the_type_the_cause_and_what_it_took() -> None:
    text = text_of(
        SCORE | {"score": 0.0, "response_type": "RE", "cause": "empty_search"},
        outcome=Outcome(kind="exhausted", cause="steps"),
        usage=Usage(calls=2, prompt_tokens=1400, completion_tokens=60, cost=0.00123),
        seconds=Seconds(total=2.5, llm=2.0),
    )
    assert "\nexhausted steps\ntoken_f1 0.0, response type RE (reasoning error)\n" in text
    assert "cause: A call found nothing. (empty_search)\n" in text
    assert "2 LLM calls, 1,400 prompt tokens (0 cached), 60 completion tokens, 0.00123 USD, 2.50 s" in text


# as it is printed


@pytest.mark.parametrize("words", ["many words ", "東京都は日本の首都"])
def test_in_a_terminal_long_lines_are_broken_and_stay_indented(words: str) -> None:
    lines = printed(transcript(episode(steps=[call(words * 30)]), None)).split("\n")
    inside = [line for line in lines if words[:4] in line]
    assert len(inside) > 5
    assert all(line.startswith("      ") for line in inside)
    assert all(Console().measure(line).maximum <= 60 for line in lines)


@given(st.text(max_size=200), st.integers(10, 100))
def test_nothing_is_lost_when_lines_are_broken(observation: str, width: int) -> None:
    found = transcript(episode(steps=[call(observation)]), SCORE)
    assert re.sub(r"\s", "", printed(found, width)) == re.sub(r"\s", "", found.plain)

"""Records: what is written can be read, what is not a record is refused, and the names are those of the design."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from r_eval.records import INFRASTRUCTURE_FAILURES, SCHEMA, Episode, Outcome, Question, Seconds, Step, Tokens, Usage

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
SECONDS = st.floats(0, 1e6)
COUNT = st.integers(0, 10**9)
STEPS = st.builds(
    Step,
    kind=st.sampled_from(["thought", "call", "observation", "answer"]),
    text=TEXT,
    api=st.none() | TEXT,
    arguments=st.none() | st.dictionaries(TEXT, JSON, max_size=3),
    observation=st.none() | TEXT,
    error=st.none() | TEXT,
    seconds=SECONDS,
    tokens=st.none() | st.builds(Tokens, prompt=COUNT, completion=COUNT, cached=COUNT),
    depth=st.none() | COUNT,
)
EPISODES = st.builds(
    Episode,
    episode_id=TEXT,
    question_id=TEXT,
    task=TEXT,
    domain=TEXT,
    level=st.sampled_from(["KS", "KU", "KA"]),
    workflow=TEXT,
    llm=TEXT,
    condition=TEXT,
    epoch=COUNT,
    question=TEXT,
    golds=st.lists(TEXT, max_size=3),
    evidence=st.lists(TEXT, max_size=3),
    answer=TEXT,
    outcome=st.builds(
        Outcome, kind=st.sampled_from(["finished", "gave_up", *sorted(INFRASTRUCTURE_FAILURES)]), detail=TEXT
    ),
    steps=st.lists(STEPS, max_size=4),
    usage=st.builds(Usage, calls=COUNT, prompt_tokens=COUNT, estimated=st.booleans(), cost=st.none() | SECONDS),
    seconds=st.builds(Seconds, total=SECONDS, llm=SECONDS, environment=SECONDS),
    fingerprint=TEXT,
)
EPISODE: dict[str, Any] = {
    "episode_id": "e",
    "question_id": "q",
    "task": "wiki/high-freq",
    "domain": "wiki",
    "level": "KS",
    "workflow": "react",
    "llm": "gguf/smollm2-135m",
    "condition": "clean",
    "question": "Which city?",
    "golds": ["Nairobi"],
    "answer": "Nairobi",
    "outcome": {"kind": "finished"},
}
QUESTION: dict[str, Any] = {"id": "q", "question": "Which city?", "answers": ["Nairobi"], "level": "KS"}


@given(EPISODES)
def test_an_episode_comes_back_from_its_line(episode: Episode) -> None:
    line = episode.model_dump_json()
    assert "\n" not in line
    assert Episode.model_validate_json(line) == episode
    assert Episode.model_validate(json.loads(line)) == episode


def test_an_episode_has_the_keys_of_the_design() -> None:
    step = {"kind": "call", "api": "Search", "arguments": {"entity": "Kenya"}, "observation": "A country."}
    written = json.loads(Episode.model_validate({**EPISODE, "steps": [step]}).model_dump_json())
    design = """schema episode_id question_id task domain level workflow llm condition epoch question golds answer
    outcome steps usage seconds fingerprint"""
    assert set(design.split()) <= set(written)
    assert list(written)[:2] == ["schema", "episode_id"]
    assert set(written["outcome"]) == {"kind", "cause", "detail"}
    assert {"kind", "text", "api", "arguments", "observation", "error", "seconds"} <= set(written["steps"][0])
    assert {"calls", "prompt_tokens", "completion_tokens", "cached_tokens", "cost"} <= set(written["usage"])
    assert set(written["seconds"]) == {"total", "llm", "environment", "queue", "retry"}
    assert written["schema"] == SCHEMA == 1


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (Episode, {**EPISODE, "score": 1}),
        (Episode, {**EPISODE, "outcome": {"kind": "finished", "why": ""}}),
        (Episode, {**EPISODE, "usage": {"tokens": 1}}),
        (Episode, {**EPISODE, "seconds": {"wall": 1}}),
        (Episode, {**EPISODE, "steps": [{"kind": "thought", "thought": ""}]}),
        (Question, {**QUESTION, "answer": "Nairobi"}),
        (Question, {**QUESTION, "context": [{"title": "", "text": "", "url": ""}]}),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_unknown_keys_are_refused(model: type[BaseModel], data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model.model_validate(data)


@pytest.mark.parametrize("missing", ["id", "question", "answers", "level"])
def test_a_question_needs_id_text_answers_and_level(missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        Question.model_validate({k: v for k, v in QUESTION.items() if k != missing})


def test_a_question_file_of_the_documented_form_is_read() -> None:
    line = {
        **QUESTION,
        "program": "answer = 'Nairobi'",
        "evidence": ["Nairobi"],
        "context": [{"title": "Kenya", "text": "The capital is Nairobi."}],
        "entities": ["Kenya"],
        "meta": {"template": "capital"},
    }
    assert json.loads(Question.model_validate(line).model_dump_json()) == line

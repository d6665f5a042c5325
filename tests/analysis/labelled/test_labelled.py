"""The labelled episodes: every type and every cause comes out as it was labelled by hand."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval.analysis.causes import CAUSES
from r_eval.analysis.response_types import TYPES
from r_eval.analysis.scoring import score_episode
from r_eval.records import Episode, Outcome, Step
from tests.analysis.conftest import episode

HERE = Path(__file__).parent
DOMAINS = ("wiki", "aminer")
LETTERS = {"T": "thought", "C": "call", "O": "observation"}
STEP = re.compile(r"([TCO])(?:!(\w+))? (.*)", re.DOTALL)


def labelled(domain: str) -> list[dict[str, Any]]:
    lines = yaml.safe_load((HERE / f"{domain}.yaml").read_text(encoding="utf-8"))
    return [{**line, "domain": domain} for line in lines]


CASES = [case for domain in (*DOMAINS, "corpus") for case in labelled(domain)]


def step(text: str) -> Step:
    found = STEP.fullmatch(text)
    assert found, text
    letter, error, rest = found.groups()
    if letter != "C":
        return Step(kind=LETTERS[letter], text=rest, error=error)  # type: ignore[arg-type]
    called, _, observation = rest.partition("-> ")
    api, _, arguments = called.strip().partition(" ")
    pairs = [pair.partition("=") for pair in arguments.split("; ") if pair]
    return Step(
        kind="call",
        api=api,
        arguments={key: value for key, _, value in pairs},
        observation=observation.replace("|", "\n"),
        error=error,
    )


def steps(case: dict[str, Any]) -> list[Step]:
    """The steps, each call with the passages that it found."""
    made, found = [step(text) for text in case["steps"]], iter(case.get("found", []))
    return [one.model_copy(update={"retrieved_ids": next(found, [])}) if one.kind == "call" else one for one in made]


def right(case: dict[str, Any]) -> dict[str, list[str]]:
    """The right documents of a question that names them."""
    return {case["id"]: case["right"]} if "right" in case else {}


def labelled_episode(case: dict[str, Any]) -> Episode:
    kind, _, cause = case.get("end", "finished").partition("/")
    answer = case["answer"]
    ending = Step(kind="answer", text=answer, error=None if answer else "unparsed")
    return episode(
        **{name: case[name] for name in ("golds", "evidence", "answer", "workflow", "domain") if name in case},
        **{"episode_id": case["id"], "question_id": case["id"], "question": case["ask"]},
        outcome=Outcome(kind=kind, cause=cause, detail=case.get("detail", "")),
        steps=[*steps(case), ending],
    )


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_types_and_cause_are_the_labels(case: dict[str, Any]) -> None:
    made = labelled_episode(case)
    record = score_episode(made, relevant=right(case))
    assert (record["response_type"], record["undecided"]) == (case["strict"], case.get("undecided", False))
    assert record["cause"] == case.get("cause", "")
    assert score_episode(made, taxonomy="published", relevant=right(case))["response_type"] == case["published"]


def test_there_are_at_least_120_and_several_of_each_type_and_each_cause_of_an_episode() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 120
    types = Counter((case["domain"], case["strict"]) for case in CASES)
    assert all(types[domain, type_] >= 5 for domain in DOMAINS for type_ in TYPES)
    assert {case["cause"] for case in CASES if "cause" in case} == set(CAUSES) - {"unscored"}

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
from r_eval.records import SCHEMA, Episode, Outcome, Step

HERE = Path(__file__).parent
DOMAINS = ("wiki", "aminer")
LETTERS = {"T": "thought", "C": "call", "O": "observation"}
STEP = re.compile(r"([TCO])(?:!(\w+))? (.*)", re.DOTALL)
PATHOLOGIES = [f"4.3.{number}" for number in range(1, 10)]
"""The tenth, shares that do not add up, is about tables; see test_sensitivity."""


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
    return [one.model_copy(update={"found": next(found, [])}) if one.kind == "call" else one for one in made]


def right(case: dict[str, Any]) -> dict[str, list[str]]:
    """The right documents of a question that names them."""
    return {case["id"]: case["right"]} if "right" in case else {}


def episode(case: dict[str, Any]) -> Episode:
    kind, _, cause = case.get("end", "finished").partition("/")
    answer = case["answer"]
    ending = Step(kind="answer", text=answer, error=None if answer else "unparsed")
    return Episode(
        schema=SCHEMA,
        episode_id=case["id"],
        question_id=case["id"],
        task=f"{case['domain']}/labelled",
        domain=case["domain"],
        level="KS",
        workflow=case.get("workflow", "react"),
        llm="some",
        condition="clean",
        question=case["ask"],
        golds=case["golds"],
        evidence=case.get("evidence", []),
        answer=answer,
        outcome=Outcome(kind=kind, cause=cause, detail=case.get("detail", "")),
        steps=[*steps(case), ending],
    )


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_strict_type_is_the_label(case: dict[str, Any]) -> None:
    record = score_episode(episode(case), relevant=right(case))
    assert (record["response_type"], record["undecided"]) == (case["strict"], case.get("undecided", False))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_published_type_is_the_label(case: dict[str, Any]) -> None:
    record = score_episode(episode(case), taxonomy="published", relevant=right(case))
    assert record["response_type"] == case["published"]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_cause_is_the_label(case: dict[str, Any]) -> None:
    assert score_episode(episode(case), relevant=right(case))["cause"] == case.get("cause", "")


def test_there_are_at_least_120_of_different_ids() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 120


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("type_", TYPES)
def test_each_domain_has_several_of_each_type(domain: str, type_: str) -> None:
    assert Counter((case["domain"], case["strict"]) for case in CASES)[domain, type_] >= 5


@pytest.mark.parametrize("pathology", PATHOLOGIES)
def test_each_pathology_of_the_published_rule_is_among_them(pathology: str) -> None:
    assert any(re.search(rf"{re.escape(pathology)}\b", case.get("about", "")) for case in CASES)


def test_each_cause_of_an_episode_is_among_them() -> None:
    assert {case["cause"] for case in CASES if "cause" in case} == set(CAUSES) - {"unscored"}


def test_the_lines_have_no_other_keys() -> None:
    keys = "id about note domain workflow ask golds evidence right steps found answer end detail"
    keys += " strict published cause undecided"
    assert {key for case in CASES for key in case} == set(keys.split())

"""Scores results that were made outside: a system that R-Eval did not run, on questions whose answers are private.

The results are `{"<id>": {"found_ids": [...], "model_answer": "..."}}`. Every private question is scored: one without
an answer counts 0 and is counted as missing. Answers are scored by the metrics of `metrics`; `found_ids`, where the
question's meta names the right texts as `text_ids`, as a ranking, by the
metrics of `metrics.ranking`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from r_eval.analysis import metrics
from r_eval.analysis.estimate import Estimate, of_scores
from r_eval.analysis.metrics.ranking import Ranking, hit_rate, ndcg, recall
from r_eval.analysis.retrieval import id_text, text_ids
from r_eval.environments.schema import clip
from r_eval.errors import UserError
from r_eval.records import Question

ALL = "all"
"""Stands for the questions of every type."""
KEYS = ("found_ids", "model_answer")


@dataclass(frozen=True, slots=True)
class Result:
    """What an outside system said to one question."""

    answer: str = ""
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One metric over the questions of one type.

    Attributes:
        metric: Its name.
        type: The questions' `meta.type`, or `ALL`.
        estimate: Mean and interval; the missing ones are in it as 0.
        missing: Questions to which the results say nothing that the metric could judge.
    """

    metric: str
    type: str
    estimate: Estimate
    missing: int

    def as_dict(self) -> dict[str, Any]:
        of = self.estimate
        numbers = {"mean": of.mean, "low": of.low, "high": of.high, "n": of.n, "missing": self.missing}
        return {"metric": self.metric, "type": self.type, **numbers}


@dataclass(frozen=True, slots=True)
class Scored:
    """All lines, and what did not fit.

    Attributes:
        missing: Ids of questions without an answer.
        unknown: Ids of results that belong to no question.
    """

    lines: list[Line]
    missing: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def score_results(
    questions: Sequence[Question], results: dict[str, Result], names: Sequence[str], k: int = 5
) -> Scored:
    """Score every question.

    Args:
        names: Metrics for the answers.
        k: How many found texts count.

    Raises:
        UserError: There is no such metric, or a question's text_ids are no list.
    """
    known = {q.id for q in questions}
    ranked = [(q, right) for q in questions if (right := text_ids(q))]
    lines = [line for name in dict.fromkeys(names) for line in _answers(name, questions, results)]
    for name, measure in (("hit", hit_rate), ("recall", recall), ("ndcg", ndcg)):
        lines += _rankings(f"{name}@{k}", measure, ranked, results, k)
    return Scored(
        lines,
        missing=[q.id for q in questions if not _answer(results, q)],
        unknown=[name for name in results if name not in known],
    )


def _answer(results: dict[str, Result], question: Question) -> str:
    return results.get(question.id, Result()).answer


def _answers(name: str, questions: Sequence[Question], results: dict[str, Result]) -> list[Line]:
    metric = metrics.get(name)
    rows = []
    for question in questions:
        answer = _answer(results, question)
        rows.append((question, metric(answer, question.answers) if answer else 0.0, not answer))
    return _lines(name, rows)


def _rankings(
    name: str,
    measure: Ranking,
    ranked: Sequence[tuple[Question, set[str]]],
    results: dict[str, Result],
    k: int,
) -> list[Line]:
    rows = []
    for question, right in ranked:
        found = results.get(question.id, Result()).found
        rows.append((question, measure(found, right, k), not found))
    return _lines(name, rows)


def _lines(metric: str, rows: Sequence[tuple[Question, float, bool]]) -> list[Line]:
    """The metric over all questions, and over those of each type where they have types."""
    kinds: dict[str, list[tuple[float, bool]]] = {}
    for question, score, missing in rows:
        if isinstance(kind := question.meta.get("type"), str):
            kinds.setdefault(kind, []).append((score, missing))
    groups = [(ALL, [(score, missing) for _, score, missing in rows]), *sorted(kinds.items())]
    return [
        Line(metric, kind, of_scores(math.fsum(s for s, _ in group), len(group), len(group)), sum(m for _, m in group))
        for kind, group in groups
        if group
    ]


def read_results(path: Path) -> dict[str, Result]:
    """The results of a file, by question id.

    Raises:
        UserError: It is not there or no JSON, an id stands twice, or an entry is not of the form; names the key.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_once)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file of results") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(data, dict):
        raise UserError(f'{path}: expected {{"<id>": {{"found_ids": [...], "model_answer": "..."}}}}')
    return {name: _result(f"{path}: {clip(repr(name))}", entry) for name, entry in data.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise UserError(f"{clip(repr(twice))} stands twice")
    return found


def _result(where: str, entry: object) -> Result:
    if not isinstance(entry, dict):
        raise UserError(f"{where}: expected an object with found_ids and model_answer")
    if strange := [key for key in entry if key not in KEYS]:
        raise UserError(f"{where}: unknown key {clip(repr(strange[0]))}. Known: {', '.join(KEYS)}")
    answer = entry.get("model_answer")
    if not isinstance(answer, str | None):
        raise UserError(f"{where}.model_answer: expected a text")
    found = entry.get("found_ids")
    try:
        if not isinstance(found, list | None):
            raise TypeError
        return Result((answer or "").strip(), tuple(id_text(item) for item in found or ()))
    except TypeError:
        raise UserError(f"{where}.found_ids: expected a list of ids, numbers or texts") from None

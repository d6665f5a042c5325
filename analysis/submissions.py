"""Answers to a question set as a file, `results.json`: scored against private questions, and made of a run.

    {"<question id>": {"found_ids": ["<document>", ...], "model_answer": "..."}}

A system that R-Eval did not run answers the public questions of a season and sends such a file. Every private question
is scored: one without an answer is 0 and counts as missing. `found_ids` are a ranking where the question's meta names
the relevant texts as `text_ids`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from r_eval.analysis import metrics
from r_eval.analysis.metrics.ranking import RANKING
from r_eval.analysis.qrels import documents, id_text, text_ids
from r_eval.environments.schema import clip
from r_eval.errors import UserError
from r_eval.folder import RunFolder
from r_eval.records import Question

if TYPE_CHECKING:
    import pandas

ALL = "all"
"""The questions of every type."""
KEYS = ("found_ids", "model_answer")
RANKED = {"hit_rate": "hit", "recall": "recall", "ndcg": "ndcg"}
"""Ranking metrics by the name of their row."""


class SubmittedAnswer(NamedTuple):
    """What a system says to one question, and the documents that it found, best first."""

    text: str = ""
    found: tuple[str, ...] = ()


class Scored(NamedTuple):
    """The scores of some answers, and what did not fit.

    Attributes:
        scores: A row per metric and type of question ("all" first): `metric, type, score, score_low, score_high,
            questions, missing`.
        missing: Ids of questions without an answer.
        unknown: Ids of answers that belong to no question.
    """

    scores: pandas.DataFrame
    missing: list[str]
    unknown: list[str]


def score_results(
    questions: Sequence[Question], answers: Mapping[str, SubmittedAnswer], names: Sequence[str], k: int = 5
) -> Scored:
    """Score every question.

    Args:
        names: Metrics for the answers.
        k: How many found texts count.

    Raises:
        UserError: The metric is unknown, or a question's text_ids are no list.
    """
    import pandas

    rows = []
    for name in dict.fromkeys(names):
        metric = metrics.get(name)
        for question in questions:
            answer = answers.get(question.id, SubmittedAnswer()).text
            rows.append((name, question, metric(answer, question.answers) if answer else 0.0, not answer))
    ranked = [(question, relevant) for question in questions if (relevant := text_ids(question))]
    for name, label in RANKED.items():
        for question, relevant in ranked:
            found = answers.get(question.id, SubmittedAnswer()).found
            rows.append((f"{label}@{k}", question, RANKING[name](found, relevant, k), not found))
    table = [
        {"metric": name, "type": kind, "question_id": one.id, "score": score, "missing": missing}
        for name, one, score, missing in rows
        for kind in (ALL, one.meta.get("type"))
        if isinstance(kind, str)
    ]
    known = {question.id for question in questions}
    return Scored(
        _means(pandas.DataFrame(table, columns=["metric", "type", "question_id", "score", "missing"])),
        [question.id for question in questions if not answers.get(question.id, SubmittedAnswer()).text],
        [name for name in answers if name not in known],
    )


def _means(rows: pandas.DataFrame) -> pandas.DataFrame:
    from r_eval.analysis.estimates import ends, mean_by

    keys = ["metric", "type"]
    means = mean_by(rows.assign(task="", cluster=rows["question_id"]), keys)[[*keys, *ends("score"), "questions"]]
    missing = rows.groupby(keys, sort=False)["missing"].sum().rename("missing").reset_index()
    found = means.merge(missing, on=keys).astype({"missing": "int64"})
    order = {name: place for place, name in enumerate(dict.fromkeys(rows["metric"]))}
    kinds = [ALL, *sorted(set(rows["type"]) - {ALL})]
    places = {"_metric": found["metric"].map(order), "_type": found["type"].map(kinds.index)}
    return found.assign(**places).sort_values([*places], ignore_index=True).drop(columns=[*places])


def package(run: RunFolder, system: str = "") -> dict[str, dict[str, Any]]:
    """A run's answers of one system in the clean environment, as `results.json` has them.

    Args:
        system: Its name; "" where the run has only one.

    Raises:
        UserError: The run has several systems, or none of that name, or two tasks share a question id.
    """
    cells = [cell for cell in run.cells() if cell.condition == "clean"]
    names = list(dict.fromkeys(cell.system for cell in cells))
    if not system and len(names) != 1:
        raise UserError(
            f"{run.path}: name the system to submit with --system; the run has: {', '.join(names) or 'none'}"
        )
    if system and system not in names:
        raise UserError(f"{run.path}: no system is called {system!r}; the run has: {', '.join(names) or 'none'}")
    found: dict[str, dict[str, Any]] = {}
    tasks: dict[str, str] = {}
    for cell in cells:
        if cell.system != (system or names[0]):
            continue
        for episode in run.cell_episodes(cell):
            if episode.epoch:
                continue
            if tasks.setdefault(episode.question_id, cell.task) != cell.task:
                raise UserError(f"{run.path}: two tasks have a question with the id {episode.question_id!r}")
            found[episode.question_id] = {"found_ids": documents(episode.steps), "model_answer": episode.answer}
    return found


def read_results(path: Path) -> dict[str, SubmittedAnswer]:
    """The answers of a file, by question id.

    Raises:
        UserError: The file cannot be read or is no JSON, an id is there twice, or an entry is not of the form.
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
    return {name: _answer(f"{path}: {clip(repr(name))}", entry) for name, entry in data.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise UserError(f"duplicate id {clip(repr(twice))}")
    return found


def _answer(where: str, entry: object) -> SubmittedAnswer:
    if not isinstance(entry, dict):
        raise UserError(f"{where}: expected an object with found_ids and model_answer")
    if unknown := [key for key in entry if key not in KEYS]:
        raise UserError(f"{where}: unknown key {clip(repr(unknown[0]))}. Known: {', '.join(KEYS)}")
    answer = entry.get("model_answer")
    if not isinstance(answer, str | None):
        raise UserError(f"{where}.model_answer: expected a text")
    found = entry.get("found_ids")
    try:
        if not isinstance(found, list | None):
            raise TypeError
        return SubmittedAnswer((answer or "").strip(), tuple(id_text(item) for item in found or ()))
    except TypeError:
        raise UserError(f"{where}.found_ids: expected a list of ids, numbers or texts") from None

"""The leaderboard: systems of many runs, and answers from elsewhere, over many versions of a question set.

Every question of a version counts for every system: one that has no score, be it never asked or lost to an
infrastructure failure, is 0 and counts as missing. Where the season is not known, these are the questions that any run
asked; under a condition, which may drop some, those that any system was asked under it. `generation_score` is the
task's own metric, `retrieval_score` the mean of hit rate, recall and NDCG, `total_score` their sum (up to 2), which
gives the rank. Tasks of a version weigh the same, and so do versions.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.version import Version

from r_eval.analysis import metrics
from r_eval.analysis.estimates import average_by, ends
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE
from r_eval.analysis.metrics.ranking import RANKING
from r_eval.analysis.qrels import text_ids
from r_eval.analysis.question_sets import QuestionKey, QuestionSet, Seasons
from r_eval.analysis.results import CLEAN, IDENTITY, load, tidy
from r_eval.analysis.retrieval import PARTS, in_order, retrieval_score
from r_eval.analysis.submissions import SubmittedAnswer, read_results
from r_eval.folder import RunFolder
from r_eval.records import Question
from r_eval.tasks.base import DEFAULT_METRIC

if TYPE_CHECKING:
    import pandas

UNKNOWN = "no season"
SCORES = ("retrieval_score", "generation_score")
STANDINGS: dict[str, str] = {
    "condition": TEXT,
    "rank": "Int64",
    **dict.fromkeys(IDENTITY[1:], TEXT),
    **dict.fromkeys(("total_score", *ends(*SCORES)), NUMBER),
    **dict.fromkeys(("questions", "missing"), WHOLE),
    "versions": TEXT,
    "current": FLAG,
    **dict.fromkeys(("updated", "approved_by"), TEXT),
}
"""The columns of `standings`; `current` says that the newest version is among a system's."""
ROWS: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "version", "task", "question_id", "cluster", "type", "updated", "approved_by"), TEXT),
    **{"place": WHOLE, "missing": FLAG, **dict.fromkeys(SCORES, NUMBER)},
}
"""The columns of `board_rows`; `place` is that of the version in their order."""
Scores = Mapping[QuestionKey, tuple[float, float]]
"""Generation and retrieval of each question that a system was asked; NaN for one that is not known."""


class _Entry(NamedTuple):
    """What one system reached on one version, before it is compared with all questions of the version.

    Attributes:
        identity: IDENTITY, `updated`, `approved_by`.
        source: Of the run or the folder, to tell two systems of one name apart.
    """

    version: Version | None
    identity: dict[str, str]
    source: str
    scores: Scores


def board_rows(
    runs: Sequence[RunFolder],
    seasons: Seasons,
    submissions: Sequence[Path] = (),
    approved: Mapping[Path, str] | None = None,
) -> pandas.DataFrame:
    """A row per version, system and question of the version, with the columns ROWS; a question without a score is 0.

    Where two runs have the same system on the same version, the later run's name is added to it.

    Args:
        submissions: Answers of systems that R-Eval did not run.
        approved: By submission, who approved it.

    Raises:
        UserError: A folder is not a run, a file cannot be read, or the questions of answers are not known.
    """
    sets: dict[Version | None, QuestionSet] = {}
    scoring: dict[str, str] = {}
    entries: list[_Entry] = []
    for run in runs:
        versions: dict[str, Version | None] = {}
        for task in run.manifest()["tasks"]:
            known = seasons.of(run, task["name"])
            versions[task["name"]] = known.version
            sets.setdefault(known.version, QuestionSet()).add(task["name"], run.questions(task["name"]), known)
            scoring[task["name"]] = task.get("metric") or DEFAULT_METRIC
        entries += _of_run(run, versions)
    for path in submissions:
        answers = read_results(path)
        known = seasons.having(answers.keys(), str(path))
        of = sets.setdefault(known.version, QuestionSet())
        task_name = next((task for task, id_ in of.facts if id_ in answers), "results")
        of.add(task_name, (), known)
        metric = metrics.get(scoring.get(task_name, DEFAULT_METRIC))
        searches = any(answer.found for answer in answers.values())
        scores = {
            (task_name, one.id): _scored(one, answers.get(one.id, SubmittedAnswer()), metric, searches)
            for one in known.questions
        }
        written = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC).date().isoformat()
        identity = {**dict.fromkeys(IDENTITY, ""), "condition": CLEAN, "system": path.stem, "role": "system"}
        identity |= {"updated": written, "approved_by": (approved or {}).get(path, "")}
        entries.append(_Entry(known.version, identity, path.parent.name, scores))
    order = sorted(sets, key=lambda version: (version is not None, version or Version("0")))
    rows = []
    for entry, name in zip(entries, _unique_names(entries), strict=True):
        where: dict[str, Any] = {**entry.identity, "system": name}
        where |= {"version": str(entry.version or UNKNOWN), "place": order.index(entry.version)}
        rows += [{**where, **line} for line in _lines(entry, sets[entry.version], entries)]
    return tidy(rows, ROWS)


def _of_run(run: RunFolder, versions: Mapping[str, Version | None]) -> Iterator[_Entry]:
    """What a run's systems reached, a version at a time."""
    manifest, results = run.manifest(), load(run)
    episodes = results.episodes.assign(found=retrieval_score(results.episodes))
    keys = [*IDENTITY, "task", "question_id"]
    means = episodes.groupby(keys, observed=True)[["score", "found"]].mean().reset_index()
    means["version"] = [str(versions[str(task)]) for task in means["task"]]
    for names, own in means.groupby([*IDENTITY, "version"], observed=True, sort=False):
        version = versions[str(own["task"].iloc[0])]
        identity = dict(zip(IDENTITY, map(str, names), strict=False))
        identity |= {"updated": str(manifest.get("updated", ""))[:10], "approved_by": ""}
        places = zip(own["task"].astype(str), own["question_id"].astype(str), strict=True)
        scores = dict(zip(places, zip(own["score"], own["found"], strict=True), strict=True))
        yield _Entry(version, identity, str(manifest["name"]), scores)


def _scored(question: Question, answer: SubmittedAnswer, metric: Any, searches: bool) -> tuple[float, float]:
    relevant, found = text_ids(question), answer.found
    generation = metric(answer.text, question.answers) if answer.text else math.nan
    if not relevant or not searches:
        return generation, math.nan
    return generation, sum(RANKING[name](found, relevant, max(1, len(found))) for name in PARTS) / len(PARTS)


def _unique_names(entries: Sequence[_Entry]) -> Iterator[str]:
    """The system of each entry, with its run's name or a number where the version has one of that name."""
    known = set()
    for entry in entries:
        system, condition = entry.identity["system"], entry.identity["condition"]
        name, number = system, 1
        while (entry.version, condition, name) in known:
            name = f"{system} ({entry.source})" if number == 1 else f"{system} ({number})"
            number += 1
        known.add((entry.version, condition, name))
        yield name


def _lines(entry: _Entry, of: QuestionSet, entries: Sequence[_Entry]) -> Iterator[dict[str, Any]]:
    """What a system reached on each question of the version; under a condition, on each that any system was asked."""
    condition = entry.identity["condition"]
    same = (one.scores for one in entries if (one.version, one.identity["condition"]) == (entry.version, condition))
    under = None if condition == CLEAN else set().union(*same)
    searches = any(found == found for _, found in entry.scores.values())
    for key in of.questions():
        if under is not None and key not in under:
            continue
        kind, relevant, cluster = of.facts.get(key, ("", False, key[1]))
        score, found = entry.scores.get(key, (math.nan, math.nan))
        if found != found and score != score and searches and relevant:
            found = 0.0  # the system searches: without a score it found nothing
        yield {
            **{"task": key[0], "question_id": key[1], "cluster": cluster, "type": kind},
            **{"generation_score": 0.0 if score != score else score, "retrieval_score": found},
            "missing": score != score,
        }


def standings(rows: pandas.DataFrame, last: int = 0) -> pandas.DataFrame:
    """Who leads: the systems by condition and rank, with the columns STANDINGS.

    Args:
        rows: As of `board_rows`.
        last: How many of the newest versions count; 0: all of them.
    """
    import pandas

    own = _of_last(rows, last)
    own = own.assign(task=own["version"] + "\n" + own["task"])
    keys = list(IDENTITY)
    groups = own.groupby(keys, sort=False)
    found = groups.agg(missing=("missing", "sum"), questions=("missing", "size"), updated=("updated", "max"))
    found["approved_by"], found["current"] = groups["approved_by"].last(), groups["place"].max() == rows["place"].max()
    found["versions"] = groups["version"].agg(lambda names: ", ".join(dict.fromkeys(names)))
    for name in SCORES:
        found = found.join(average_by(own, keys, name).set_index(keys)[ends(name)])
    found["total_score"] = found["retrieval_score"] + found["generation_score"]
    found = found.reset_index()
    parts = [_ranked(found[found["condition"] == condition]) for condition in dict.fromkeys(rows["condition"])]
    return tidy(pandas.concat(parts), STANDINGS)


def _of_last(rows: pandas.DataFrame, last: int) -> pandas.DataFrame:
    return rows[rows["place"].isin(sorted(rows["place"].unique())[-last:])]


def _ranked(found: pandas.DataFrame) -> pandas.DataFrame:
    """By the total where it is known of any contender, else by generation; references have no rank."""
    contender = found["role"] != "reference"
    by = "total_score" if found.loc[contender, "total_score"].notna().any() else "generation_score"
    found = found.assign(rank=found[by].where(contender).round(12).rank(method="min", ascending=False))
    return found.assign(_by=-found["generation_score"]).sort_values(["rank", "_by"], kind="stable")


def by_type(rows: pandas.DataFrame, last: int = 0) -> pandas.DataFrame:
    """Retrieval and generation by type of question, each version with the same weight."""
    own = _of_last(rows, last)
    own = own[own["type"] != ""]
    keys = [*IDENTITY, "type"]
    found = own.groupby(keys, sort=False).size().rename("questions").to_frame()
    found = found.join(own.groupby([*keys, "version"])[[*SCORES]].mean().groupby(level=keys).mean()).reset_index()
    systems, order = list(dict.fromkeys(own["system"])), in_order(found["type"])
    found = found.assign(_system=found["system"].map(systems.index), _type=found["type"].map(order.index))
    found["total_score"] = found["retrieval_score"] + found["generation_score"]
    found = found.sort_values(["condition", "_system", "_type"], kind="stable")
    types = {**dict.fromkeys(keys, TEXT), "questions": WHOLE, **dict.fromkeys((*SCORES, "total_score"), NUMBER)}
    return tidy(found, types)

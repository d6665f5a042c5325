"""The leaderboard: systems of many runs, and answers from elsewhere, over many versions of a question set.

Every question of a version counts for every system: one that has no score, be it never asked or lost to an
infrastructure failure, is 0 and counts as missing. Where the season is not known, these are the questions that any run
asked; under a condition, which may drop some, those that any system was asked under it. `generation_score` is the
task's own metric, `retrieval_score` the mean of hit rate, recall and NDCG, `total_score` their sum (up to 2), which
gives the rank. Tasks of a version weigh the same, and so do versions.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
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

PIPELINE = ("retriever", "embedding", "top_k")
"""What a run says of a system's retrieval; a setting that a grid leaves to its default is not known."""
SYSTEM = (*IDENTITY, *PIPELINE)
UNKNOWN = "no season"
STANDINGS: dict[str, str] = {
    "condition": TEXT,
    "rank": "Int64",
    **dict.fromkeys(SYSTEM[1:], TEXT),
    **dict.fromkeys(("total_score", *ends("retrieval_score", "generation_score")), NUMBER),
    **dict.fromkeys(("questions", "missing"), WHOLE),
    "versions": TEXT,
    "current": FLAG,
    **dict.fromkeys(("updated", "approved_by"), TEXT),
}
"""The columns of `standings`; `current` says that the newest version is among a system's."""


class _VersionResult(NamedTuple):
    """What one system reached on one version, before it is held against all questions of the version."""

    version: Version | None
    identity: dict[str, Any]
    questions: Collection[QuestionKey]
    scores: Mapping[QuestionKey, float]
    found: Mapping[QuestionKey, float]


def board_rows(
    runs: Sequence[RunFolder],
    seasons: Seasons,
    submissions: Sequence[Path] = (),
    approved: Mapping[Path, str] | None = None,
) -> pandas.DataFrame:
    """A row per version, system and question of the version; a question without a score is 0, and missing.

    Columns: SYSTEM, `version`, `place` (the order of versions), `task`, `question_id`, `cluster`, `type`,
    `generation_score`, `retrieval_score`, `missing`, `updated`, `approved_by`. Where two runs have the same system on
    the same version, the later run's name is added to it.

    Args:
        submissions: Answers of systems that R-Eval did not run.
        approved: By submission, who approved it.

    Raises:
        UserError: A folder is not a run, a file cannot be read, or the questions of answers are not known.
    """
    import pandas

    sets: dict[Version | None, QuestionSet] = {}
    scoring: dict[str, str] = {}
    results: list[_VersionResult] = []
    for run in runs:
        known = {entry["name"]: seasons.of(run, entry["name"]) for entry in run.manifest()["tasks"]}
        scoring |= {entry["name"]: entry["metric"] for entry in run.manifest()["tasks"] if entry.get("metric")}
        for task, one in known.items():
            sets.setdefault(one.version, QuestionSet()).add(task, run.questions(task), one)
        results += _of_run(run, {task: one.version for task, one in known.items()})
    for path in submissions:
        results.append(_submitted(path, seasons, sets, scoring, (approved or {}).get(path, "")))
    order = sorted(sets, key=lambda version: (version is not None, version or Version("0")))
    rows = []
    for result, name in zip(results, _unique_names(results), strict=True):
        version = {"version": str(result.version or UNKNOWN), "place": order.index(result.version)}
        lines = _lines(result, sets[result.version], results)
        rows += [{**result.identity, **version, "system": name, **line} for line in lines]
    texts = (*SYSTEM, "version", "task", "question_id", "cluster", "type", "updated", "approved_by")
    types = {**dict.fromkeys(texts, TEXT), "place": WHOLE, "missing": FLAG}
    return tidy(pandas.DataFrame(rows), {**types, **dict.fromkeys(("generation_score", "retrieval_score"), NUMBER)})


def _unique_names(results: Sequence[_VersionResult]) -> Iterator[str]:
    """The system of each result, with its run's name or a number where the version has one of that name."""
    known = set()
    for result in results:
        system, condition = result.identity["system"], result.identity["condition"]
        name, number = system, 1
        while (result.version, condition, name) in known:
            name = f"{system} ({result.identity['run']})" if number == 1 else f"{system} ({number})"
            number += 1
        known.add((result.version, condition, name))
        yield name


def _lines(result: _VersionResult, of: QuestionSet, results: Sequence[_VersionResult]) -> Iterator[dict[str, Any]]:
    """What a system reached on each question of the version; under a condition, on each that any system was asked."""
    condition = result.identity["condition"]
    same = (one for one in results if one.version == result.version and one.identity["condition"] == condition)
    under = None if condition == CLEAN else set().union(*(one.questions for one in same))
    for key in of.questions():
        if under is not None and key not in under:
            continue
        kind, relevant, cluster = of.facts.get(key, ("", False, key[1]))
        score, found = result.scores.get(key), result.found.get(key)
        if found is None and score is None and result.found and relevant:
            found = 0.0  # the system searches: without a score it found nothing
        yield {
            **{"task": key[0], "question_id": key[1], "cluster": cluster, "type": kind},
            **{"generation_score": score or 0.0, "retrieval_score": found, "missing": score is None},
        }


def _of_run(run: RunFolder, versions: Mapping[str, Version | None]) -> Iterator[_VersionResult]:
    """What a run's systems reached, a version at a time."""
    manifest, results = run.manifest(), load(run)
    episodes = results.episodes.assign(found=retrieval_score(results.episodes))
    keys = ["condition", "system", "task", "question_id"]
    means = episodes.groupby(keys, observed=True)[["score", "found"]].mean().reset_index()
    for names, cells in results.cells.groupby(list(IDENTITY), observed=True):
        condition, system, workflow = (str(name) for name in names[:3])
        for version in dict.fromkeys(versions[task] for task in cells["task"]):
            tasks = {str(task) for task in cells["task"] if versions[task] == version}
            rows = means[(means["condition"] == condition) & (means["system"] == system) & means["task"].isin(tasks)]
            places = [(str(task), str(id_)) for task, id_ in zip(rows["task"], rows["question_id"], strict=True)]
            identity = dict(zip(IDENTITY, names, strict=True)) | pipeline(manifest, workflow, tasks)
            identity |= {"approved_by": "", "run": str(manifest["name"])}
            yield _VersionResult(
                version,
                identity | {"updated": str(manifest.get("updated", ""))[:10]},
                places,
                {key: score for key, score in zip(places, rows["score"], strict=True) if score == score},
                {key: found for key, found in zip(places, rows["found"], strict=True) if found == found},
            )


def _submitted(
    path: Path, seasons: Seasons, sets: dict[Version | None, QuestionSet], scoring: Mapping[str, str], approved_by: str
) -> _VersionResult:
    """What the answers of a file reached, scored as runs are; the system has the file's name."""
    answers = read_results(path)
    known = seasons.having(answers.keys(), str(path))
    of = sets.setdefault(known.version, QuestionSet())
    task = of.task_of(answers)
    if not task:
        task = "results"
        of.add(task, (), known)
    metric = metrics.get(scoring.get(task, DEFAULT_METRIC))
    answered = [(one, answers[one.id]) for one in known.questions if one.id in answers]
    searches = any(answer.found for _, answer in answered)
    ranked = {(task, one.id): rank for one, answer in answered if (rank := _ranked(one, answer)) is not None}
    written = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC).date().isoformat()
    identity = {**dict.fromkeys(SYSTEM, ""), "condition": CLEAN, "system": path.stem, "role": "system"}
    return _VersionResult(
        known.version,
        identity | {"updated": written, "approved_by": approved_by, "run": path.parent.name},
        [(task, one.id) for one in known.questions],
        {(task, one.id): metric(answer.text, one.answers) for one, answer in answered if answer.text},
        ranked if searches else {},
    )


def _ranked(question: Question, answer: SubmittedAnswer) -> float | None:
    """The mean of the parts of retrieval; None where the relevant documents are not known."""
    relevant, found = text_ids(question), list(dict.fromkeys(answer.found))
    if not relevant:
        return None
    return sum(RANKING[name](found, relevant, max(1, len(found))) for name in PARTS) / len(PARTS)


def pipeline(manifest: Mapping[str, Any], workflow: str, tasks: Collection[str]) -> dict[str, str]:
    """What a run's grid says of a workflow's retrieval.

    What a sweep varies counts before the workflow's own settings, and these before those of the tasks' environments.
    """
    grid = manifest.get("grid", {})
    varied = manifest.get("vary", {}).get("workflows", {}).get(workflow, {})
    base = workflow.partition("@")[0] if varied else workflow
    entries = [entry for entry in grid.get("workflows", ()) if isinstance(entry, dict)]
    own: Mapping[str, Any] = next((one for one in entries if base in (one.get("name"), one.get("workflow"))), {})
    chosen = [one for one in grid.get("tasks", ()) if isinstance(one, dict) and one.get("task") in tasks]
    layers = (varied, own, own.get("environment"), *(one.get("environment") for one in chosen))
    found: dict[str, str] = {}
    for settings in layers:
        for key in PIPELINE if isinstance(settings, dict) else ():
            if isinstance(value := settings.get(key), str | int) and not isinstance(value, bool):
                found.setdefault(key, str(value))
    return dict.fromkeys(PIPELINE, "") | found


def standings(rows: pandas.DataFrame, last: int = 0, current: bool = False) -> pandas.DataFrame:
    """Who leads: the systems by condition and rank, with the columns STANDINGS.

    Args:
        rows: As of `board_rows`.
        last: How many of the newest versions count; 0: all of them.
        current: Whether systems that are not on the newest version are left out.
    """
    import pandas

    places = sorted(rows["place"].unique())
    newest = places[-1:]
    own = rows[rows["place"].isin(places[-last:])]
    own = own.assign(task=own["version"] + "\n" + own["task"])
    keys = list(SYSTEM)
    groups = own.groupby(keys, sort=False)
    found = groups.agg(missing=("missing", "sum"), questions=("missing", "size"), updated=("updated", "max"))
    found["approved_by"], found["current"] = groups["approved_by"].last(), groups["place"].max().isin(newest)
    found["versions"] = groups["version"].agg(lambda names: ", ".join(dict.fromkeys(names)))
    for name in ("retrieval_score", "generation_score"):
        found = found.join(average_by(own, keys, name).set_index(keys)[ends(name)])
    found["total_score"] = found["retrieval_score"] + found["generation_score"]
    found = found.reset_index()
    found = found[found["current"] | (not current)]
    conditions = list(dict.fromkeys(rows["condition"]))
    parts = [_ranked_rows(found[found["condition"] == condition]) for condition in conditions]
    return tidy(pandas.concat(parts), STANDINGS)


def _ranked_rows(found: pandas.DataFrame) -> pandas.DataFrame:
    """By the total where it is known of any contender, else by generation; references have no rank."""
    contender = found["role"] != "reference"
    by = "total_score" if found.loc[contender, "total_score"].notna().any() else "generation_score"
    found = found.assign(rank=found[by].where(contender).round(12).rank(method="min", ascending=False))
    return found.assign(negative=-found["generation_score"]).sort_values(["rank", "negative"], kind="stable")


def by_type(rows: pandas.DataFrame, last: int = 0) -> pandas.DataFrame:
    """Retrieval and generation by type of question, each version with the same weight."""
    scores = ("retrieval_score", "generation_score")
    numbers = dict.fromkeys((*scores, "total_score"), NUMBER)
    own = rows[rows["place"].isin(sorted(rows["place"].unique())[-last:]) & (rows["type"] != "")]
    keys = [*SYSTEM, "type"]
    found = own.groupby(keys, sort=False).size().rename("questions").to_frame()
    found = found.join(own.groupby([*keys, "version"])[[*scores]].mean().groupby(level=keys).mean()).reset_index()
    order = in_order(found["type"])
    systems = {name: place for place, name in enumerate(dict.fromkeys(own["system"]))}
    found = found.assign(_system=found["system"].map(systems), _type=found["type"].map(order.index))
    found["total_score"] = found["retrieval_score"] + found["generation_score"]
    found = found.sort_values(["condition", "_system", "_type"], kind="stable")
    return tidy(found, {**dict.fromkeys(keys, TEXT), "questions": WHOLE, **numbers})

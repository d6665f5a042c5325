"""Results of a system that R-Eval did not run, as a line of the board: `{"<id>": {"found_ids", "model_answer"}}`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

from r_eval.analysis import metrics
from r_eval.analysis.leaderboard.pipeline import Pipeline
from r_eval.analysis.leaderboard.results import Result, Taken
from r_eval.analysis.leaderboard.sets import QuestionSet
from r_eval.analysis.leaderboard.versions import Seasons
from r_eval.analysis.metrics.ranking import RANKING
from r_eval.analysis.outside import Result as Answer
from r_eval.analysis.outside import read_results
from r_eval.analysis.question_types import PARTS
from r_eval.analysis.retrieval import text_ids
from r_eval.analysis.systems import CLEAN
from r_eval.records import Question
from r_eval.tasks.base import DEFAULT_METRIC
from r_eval.tasks.seasons.version import Version


def submitted(
    path: Path,
    seasons: Seasons,
    sets: dict[Version | None, QuestionSet],
    named: Mapping[str, str],
    taken: Taken,
) -> Result:
    """What results reached; the system has the file's name.

    They are scored as runs are: by the metric of the task, and by all different documents found.

    Args:
        sets: What is asked on each version; that of the results is added where no run is of it.
        named: The metrics of tasks by name.

    Raises:
        UserError: The file cannot be read, or no season that is known has its questions.
    """
    results = read_results(path)
    known = seasons.having(results.keys(), str(path))
    of = sets.setdefault(known.version, QuestionSet())
    task = of.task_of(results)
    if task is None:
        task = "results"
        of.add(task, (), known, {})
    metric = metrics.get(named.get(task, DEFAULT_METRIC))
    answered = [(q, results[q.id]) for q in known.questions if q.id in results]
    written = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC)
    name = taken.name(known.version, CLEAN, path.stem, path.parent.name)
    found = {(task, q.id): rank for q, given in answered if (rank := _ranked(q, given)) is not None}
    return Result(
        *(known.version, CLEAN, name, "", "", False, Pipeline()),
        asked={(task, q.id) for q in known.questions},
        scores={(task, q.id): metric(given.answer, q.answers) for q, given in answered if given.answer},
        found=found if any(given.found for _, given in answered) else {},
        searches=any(given.found for _, given in answered),
        updated=written.isoformat(timespec="seconds"),
    )


def _ranked(question: Question, given: Answer) -> float | None:
    """The mean of the parts of retrieval; None where the right documents are not known."""
    right = text_ids(question)
    if not right:
        return None
    found = list(dict.fromkeys(given.found))
    return sum(RANKING[name](found, right, max(1, len(found))) for name in PARTS) / len(PARTS)

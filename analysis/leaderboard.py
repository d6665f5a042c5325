"""The leaderboard: systems of many runs, and answers from elsewhere, over many versions of a question set.

Every question of a version counts for every system: one that has no score, be it never asked or lost to an
infrastructure failure, is 0 and counts as missing. Where the season is not known, these are the questions that any run
asked; under a condition, which may drop some, those that any system was asked under it. `generation_score` is the
task's own metric, `retrieval_score` the mean of hit rate, recall and NDCG, `total_score` their sum (up to 2), which
gives the rank. Tasks of a version weigh the same, and so do versions.

A season's version is written next to its question file (`<name>.season.json`), and a run whose grid names such a file
has a copy of it next to its own copy of the questions. The board is a folder:

DIR/
  index.html           the page; no server, no network
  board.json           the runs and question files of the board, by their paths from DIR, and what was approved
  submissions/*.json   approved answers of systems that R-Eval did not run
  tables/leaderboard.* the numbers of each version for other programs (csv) and for papers (md, tex)
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.version import Version
from pydantic import BaseModel, ConfigDict, ValidationError

from r_eval.analysis import metrics
from r_eval.analysis.estimates import ends, mean_by
from r_eval.analysis.frame import FLAG, NUMBER, TEXT, WHOLE, cluster_of
from r_eval.analysis.qrels import rank_metrics, text_ids
from r_eval.analysis.report import write_tables_page
from r_eval.analysis.results import CLEAN, IDENTITY, load, records, tidy
from r_eval.analysis.retrieval import PARTS, retrieval_score
from r_eval.analysis.submissions import SubmittedAnswer, read_results
from r_eval.disk import read_regular
from r_eval.errors import UserError
from r_eval.folder import RunFolder, described, file_name, write_whole
from r_eval.records import Question
from r_eval.tasks.base import DEFAULT_METRIC
from r_eval.tasks.questions import read_questions
from r_eval.tasks.seasons import read_season

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
    **dict.fromkeys(("versions", "updated", "approved_by"), TEXT),
}
"""The columns of `standings`."""
ROWS: dict[str, str] = {
    **dict.fromkeys((*IDENTITY, "version", "task", "question_id", "cluster", "updated", "approved_by"), TEXT),
    **{"place": WHOLE, "missing": FLAG, **dict.fromkeys(SCORES, NUMBER)},
}
"""The columns of `board_rows`; `place` is that of the version in their order."""
_QUESTION = ["version", "task", "question_id"]


class _Known(NamedTuple):
    """A version of a question set whose file is known."""

    version: str
    size: int
    questions: Sequence[Question]


class _Asked:
    """The questions of every version, over all that is known of them, and the metric of each task."""

    def __init__(self) -> None:
        self.metric: dict[str, str] = {}
        self._facts: dict[tuple[str, str], dict[str, tuple[bool, str]]] = {}
        self._sizes: dict[tuple[str, str], int] = {}

    def add(self, version: str, task: str, questions: Iterable[Question], count: int) -> None:
        """Take in some questions of a version that has at least `count`."""
        known = self._facts.setdefault((version, task), {})
        for one in questions:
            known[one.id] = bool(one.evidence or text_ids(one)), cluster_of(one)
        self._sizes[version, task] = max(count, self._sizes.get((version, task), 0))

    def task_of(self, version: str, ids: Collection[str]) -> str:
        """The task of a version that has any of some ids."""
        own = (task for (place, task), known in self._facts.items() if place == version and any(map(known.get, ids)))
        return next(own, "results")

    def versions(self) -> list[str]:
        """From the oldest to the newest; questions of no season are before all."""
        found = dict.fromkeys(version for version, _ in self._facts)
        return sorted(found, key=lambda one: (one != UNKNOWN, Version("0" if one == UNKNOWN else one)))

    def frame(self) -> pandas.DataFrame:
        """Every question; of those that no run asked and no file has, only that they exist."""
        import pandas

        rows: list[tuple[Any, ...]] = []
        for key, known in self._facts.items():
            rows += [(*key, id_, *facts) for id_, facts in known.items()]
            rows += [(*key, f"\0{n}", False, f"\0{n}") for n in range(len(known), self._sizes[key])]
        return pandas.DataFrame(rows, columns=[*_QUESTION, "relevant", "cluster"])


def board_rows(
    runs: Sequence[RunFolder],
    seasons: Sequence[Path] = (),
    submissions: Mapping[Path, str] | None = None,
) -> pandas.DataFrame:
    """A row per version, system and question of the version, with the columns ROWS; a question without a score is 0.

    Where two runs have the same system on the same version, the later run's name is added to it.

    Args:
        seasons: Question files with their season next to them.
        submissions: Answers of systems that R-Eval did not run, with who approved them.

    Raises:
        UserError: A folder is not a run, a file cannot be read, or the questions of answers are not known.
    """
    known, asked = list(map(_known, seasons)), _Asked()
    reached = [row for run in runs for row in _of_run(run, known, asked)]
    for path, name in (submissions or {}).items():
        reached += _of_submission(path, known, asked, name)
    if not reached:
        return tidy([], ROWS)
    return _joined(reached, asked)


def _known(path: Path) -> _Known:
    if (season := read_season(path)) is None:
        raise UserError(f"{path} has no season next to it: name question files that r-eval generate wrote")
    return _Known(str(Version(season.version)), season.count, read_questions(path))


def _of_run(run: RunFolder, known: Sequence[_Known], asked: _Asked) -> list[dict[str, Any]]:
    """What a run's systems reached on each question."""
    manifest, results = run.manifest(), load(run)
    versions: dict[str, str] = {}
    for task in manifest["tasks"]:
        name, season = task["name"], read_season(run.questions_file(task["name"]))
        versions[name] = str(Version(season.version)) if season else UNKNOWN
        asked.metric[name] = task.get("metric") or DEFAULT_METRIC
        asked.add(versions[name], name, run.questions(name), season.count if season else 0)
        for one in known:
            if one.version == versions[name]:
                asked.add(one.version, name, one.questions, one.size)
    episodes = results.episodes.assign(found=retrieval_score(results.episodes))
    keys = [*IDENTITY, "task", "question_id"]
    means = episodes.groupby(keys, observed=True, sort=False)[["score", "found"]].mean().reset_index()
    means = means.astype(dict.fromkeys(keys, "str"))
    updated = str(manifest.get("updated", ""))[:10]
    means = means.assign(version=means["task"].map(versions), source=str(manifest["name"]), updated=updated)
    return records(means.assign(approved_by="", entry=str(run.path)))


def _of_submission(path: Path, known: Sequence[_Known], asked: _Asked, approved_by: str) -> Iterator[dict[str, Any]]:
    """What the answers of a file reach on each question of their version."""
    answers = read_results(path)
    found = [one for one in known if any(question.id in answers for question in one.questions)]
    if not found:
        raise UserError(f"{path}: no known season has a question of these ids; name its private file with --season")
    versions = sorted({one.version for one in found})
    if len(versions) > 1:
        raise UserError(f"{path}: the ids are those of the versions {' and '.join(versions)}; name one of them")
    version, size, questions = found[0]
    task = asked.task_of(version, answers)
    asked.add(version, task, questions, size)
    metric = metrics.get(asked.metric.get(task, DEFAULT_METRIC))
    searches = any(answer.found for answer in answers.values())
    written = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC).date().isoformat()
    identity = {**dict.fromkeys(IDENTITY, ""), "condition": CLEAN, "system": path.stem, "role": "system"}
    identity |= {"version": version, "source": path.parent.name, "entry": str(path), "task": task}
    for one in questions:
        answer, relevant = answers.get(one.id, SubmittedAnswer()), text_ids(one)
        ranks = rank_metrics(answer.found, relevant, max(1, len(answer.found))) if relevant and searches else {}
        yield {
            **{**identity, "updated": written, "approved_by": approved_by, "question_id": one.id},
            "score": metric(answer.text, one.answers) if answer.text else math.nan,
            "found": sum(ranks[name] for name in PARTS) / len(PARTS) if ranks else math.nan,
        }


def _joined(reached: Sequence[Mapping[str, Any]], asked: _Asked) -> pandas.DataFrame:
    """What was reached, and 0 for what was not, by system and question of the version."""
    import pandas

    frame = pandas.DataFrame(reached)
    keys = [*IDENTITY, "version", "entry"]
    frame["searches"] = frame.groupby(keys)["found"].transform(lambda found: found.notna().any())
    entries = frame.drop_duplicates(keys)[[*keys, "source", "updated", "approved_by", "searches"]]
    entries = entries.assign(name=list(_unique_names(entries)))
    rows = entries.merge(asked.frame(), on="version").merge(
        frame[[*keys, "task", "question_id", "score", "found"]], "left", [*keys, "task", "question_id"]
    )
    under = set(frame[["condition", *_QUESTION]].itertuples(index=False, name=None))
    counts = [
        key[0] == CLEAN or key in under for key in rows[["condition", *_QUESTION]].itertuples(index=False, name=None)
    ]
    rows = rows.loc[counts]
    rows = rows.assign(missing=rows["score"].isna(), system=rows["name"], generation_score=rows["score"].fillna(0.0))
    nothing = rows["missing"] & rows["found"].isna() & rows["searches"] & rows["relevant"].astype(bool)
    rows["retrieval_score"] = rows["found"].mask(nothing, 0.0)  # it searches: without a score it found nothing
    rows["place"] = rows["version"].map({version: place for place, version in enumerate(asked.versions())})
    return tidy(rows, ROWS)


def _unique_names(entries: pandas.DataFrame) -> Iterator[str]:
    """The system of each entry, with its run's name or a number where the version has one of that name."""
    known = set()
    names = entries[["version", "condition", "system", "source"]].itertuples(index=False, name=None)
    for version, condition, system, source in names:
        name, number = system, 1
        while (version, condition, name) in known:
            name = f"{system} ({source})" if number == 1 else f"{system} ({number})"
            number += 1
        known.add((version, condition, name))
        yield name


def standings(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Who leads by rows as of `board_rows`: the systems by condition and rank, with the columns STANDINGS."""
    import pandas

    own = rows.assign(task=rows["version"] + "\n" + rows["task"])
    keys = list(IDENTITY)
    groups = own.groupby(keys, sort=False)
    found = groups.agg(missing=("missing", "sum"), questions=("missing", "size"), updated=("updated", "max"))
    found["approved_by"] = groups["approved_by"].last()
    found["versions"] = groups["version"].agg(lambda names: ", ".join(dict.fromkeys(names)))
    for name in SCORES:
        found = found.join(mean_by(own, keys, name, strata=True).set_index(keys)[ends(name)])
    found["total_score"] = found["retrieval_score"] + found["generation_score"]
    found = found.reset_index()
    parts = [_ranked(found[found["condition"] == condition]) for condition in dict.fromkeys(rows["condition"])]
    return tidy(pandas.concat(parts), STANDINGS)


def _ranked(found: pandas.DataFrame) -> pandas.DataFrame:
    """By the total where it is known of any contender, else by generation; references have no rank."""
    contender = found["role"] != "reference"
    by = "total_score" if found.loc[contender, "total_score"].notna().any() else "generation_score"
    found = found.assign(rank=found[by].where(contender).round(12).rank(method="min", ascending=False))
    return found.assign(_by=-found["generation_score"]).sort_values(["rank", "_by"], kind="stable")


# ---- the folder

NOTE = (
    "Retrieval: mean of hit rate, recall and NDCG. Generation: the task's own metric. Total: their sum, up to 200 %. "
    "Every question of a version counts for every system; one without a score is missing, and counts 0."
)
OVER = "Over several versions each has the same weight."


class Board(BaseModel):
    """`board.json`.

    Attributes:
        runs, seasons: Paths of runs and question files, from the board's folder.
        approved: By the name of a file in `submissions/`, who approved it.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    runs: list[str] = []
    seasons: list[str] = []
    approved: dict[str, str] = {}


def write_leaderboard(
    runs: Sequence[RunFolder], out: Path, seasons: Sequence[Path] = ()
) -> tuple[Path, pandas.DataFrame]:
    """Write the leaderboard of some runs; scores that are missing or out of date are computed first.

    Args:
        out: The board's folder; a board there is replaced, but for its approved submissions.
        seasons: Question files with their season next to them, from which the runs' questions are.

    Returns:
        The page's path, and the rows that it is made of, as of `board_rows`.

    Raises:
        UserError: A run or a season cannot be read, or there is nothing to show.
    """

    def relative(paths: Iterable[Path]) -> list[str]:
        return [Path(os.path.relpath(path.resolve(), out.resolve())).as_posix() for path in paths]

    board = Board(
        runs=relative(run.path for run in runs),
        seasons=relative(seasons),
        approved=read_board(out).approved if (out / "board.json").exists() else {},
    )
    return _write(board, out)


def approve(out: Path, submission: Path, name: str) -> tuple[Path, pandas.DataFrame]:
    """Add the answers of a system that R-Eval did not run to a board, and write the board anew.

    Args:
        name: Who approved them; it is printed next to the system.

    Raises:
        UserError: There is no board, the file is no submission, or the board has one of that name.
    """
    board = read_board(out)
    read_results(submission)
    name_in_board = f"{file_name(submission.stem)}.json"
    if name_in_board in board.approved:
        raise UserError(f"{out}: the board has a submission {name_in_board!r}; rename the file")
    write_whole(out / "submissions" / name_in_board, [read_regular(submission)])
    try:
        return _write(board.model_copy(update={"approved": {**board.approved, name_in_board: name}}), out)
    except UserError:
        (out / "submissions" / name_in_board).unlink()
        raise


def read_board(out: Path) -> Board:
    """What a board is made of.

    Raises:
        UserError: The folder is no board, or its board.json is damaged.
    """
    path = out / "board.json"
    try:
        board = Board.model_validate_json(read_regular(path))
    except FileNotFoundError:
        raise UserError(f"{out} is no leaderboard: it has no board.json (r-eval data leaderboard writes one)") from None
    except ValidationError as error:
        raise UserError(f"{path}: {described(error)}") from None
    if odd := next((name for name in board.approved if name != file_name(name)), None):
        raise UserError(f"{path}: {odd!r} is not the name of a file in submissions/")
    return board


def _write(board: Board, out: Path) -> tuple[Path, pandas.DataFrame]:
    approved = {out / "submissions" / name: person for name, person in board.approved.items()}
    runs, seasons = ([Path(os.path.normpath(out / name)) for name in names] for names in (board.runs, board.seasons))
    rows = board_rows([RunFolder(path) for path in runs], seasons, approved)
    if rows.empty:
        raise UserError("no episodes in these runs: the leaderboard would be empty")
    versions = rows[["place", "version"]].drop_duplicates().sort_values("place")
    facts = []
    for place, name in versions.itertuples(index=False):
        systems = rows[rows["place"] == place].groupby(["condition", "system"])
        updated = systems["updated"].max().max()
        facts.append(f"{name}: {systems.size().max()} questions, {len(systems)} systems, updated {updated}")
    page = write_tables_page(out, "Leaderboard", facts, [*_tables(rows, len(versions))])
    write_whole(out / "board.json", board.model_dump_json(indent=1) + "\n")
    return page, rows


def _tables(rows: pandas.DataFrame, number: int) -> Iterator[tuple[str, str, str, pandas.DataFrame]]:
    """The standings over all versions, and of each version."""
    import pandas

    note = f"{NOTE} {OVER}" if number > 1 else NOTE
    yield "standings", "All versions" if number > 1 else "Standings", note, _shown(standings(rows))
    parts = [
        standings(own).drop(columns="versions").assign(version=own["version"].iloc[0])
        for _, own in rows.groupby("place")
    ]
    found = pandas.concat(parts, ignore_index=True)
    found.insert(0, "version", found.pop("version"))
    yield "leaderboard", "Each version", NOTE, found


def _shown(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The frame without columns that are empty for every system."""
    return frame.drop(columns=[name for name in frame if (frame[name] == "").all() and name != "system"])

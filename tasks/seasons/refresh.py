"""Makes the next season of a question set: no question that was asked before, and a note of what changed.

A question counts as asked before if an earlier season has its text, whatever its case and spaces, or its program: the
same question in other words. Earlier seasons are found through the sidecars, each of which names the one before it.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from r_eval.environments.base import Environment
from r_eval.environments.sandbox import Sandbox
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.questions import folded, read_questions
from r_eval.tasks.seasons.season import Previous, Season, content_hash, read_season, seen_from
from r_eval.tasks.seasons.version import Version
from r_eval.tasks.solving import same_values, solve

NAMED = 5


@dataclasses.dataclass(frozen=True)
class Earlier:
    """A question file of an earlier season.

    Attributes:
        season: Its sidecar; None where it has none, and then it counts as 1.0.0.
    """

    path: Path
    questions: tuple[Question, ...]
    season: Season | None

    @property
    def version(self) -> Version:
        return Version.parse(self.season.version) if self.season else Version()


class Refresher:
    """The seasons before, and what the next one is to be.

    Args:
        paths: Question files of earlier seasons; those before them are found through their sidecars.

    Attributes:
        latest: The earlier season with the highest version.
        version: Of the season to be made.
        lost: A sentence for every earlier season whose file could not be found or has changed since.

    Raises:
        UserError: A file cannot be read; names it.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.lost: list[str] = []
        self.earlier: dict[Path, Earlier] = {}
        waiting = list(paths)
        while waiting:
            path = waiting.pop()
            if path.resolve() not in self.earlier:
                found = Earlier(path, tuple(read_questions(path)), read_season(path))
                self.earlier[path.resolve()] = found
                waiting += self._before(found)
        self.latest = max(self.earlier.values(), key=lambda e: (e.version, str(e.path)))
        self.version = self.latest.version.next()
        self._texts = {folded(q.question) for e in self.earlier.values() for q in e.questions}
        self._programs = {q.program for e in self.earlier.values() for q in e.questions if q.program}

    def _before(self, found: Earlier) -> list[Path]:
        previous = found.season.previous if found.season else None
        if previous is None:
            return []
        path = found.path.parent / previous.file
        if previous.file and path.is_file() and content_hash(path) == previous.questions:
            return [path]
        for other in sorted(found.path.parent.glob("*.jsonl")):
            if content_hash(other) == previous.questions:
                return [other]
        name = f"{previous.version} ({previous.file})" if previous.file else previous.version
        self.lost.append(
            f"season {name} is not beside {found.path.name} as it was: its questions may come again, unless its file "
            "is named by a further --refresh"
        )
        return []

    @property
    def seed(self) -> int:
        """The seed of the next season where none is given: of the last one's and the version, so that sets differ."""
        before = self.latest.season.seed if self.latest.season else None
        return int.from_bytes(hashlib.blake2b(f"{before or 0}/{self.version}".encode(), digest_size=4).digest())

    @property
    def count(self) -> int:
        """How many questions the last season has."""
        return len(self.latest.questions)

    def spare(self, *paths: Path) -> None:
        """See that no earlier season would be written over.

        Raises:
            UserError: One of the paths is a question file of an earlier season.
        """
        for path in paths:
            if path.resolve() in self.earlier:
                raise UserError(f"{path} is an earlier season's file: name another one to write")

    def wanted(self, count: int) -> int:
        """How many questions to make, so that `count` are left even if every earlier one comes again."""
        return count + sum(len(e.questions) for e in self.earlier.values())

    def new(self, made: Sequence[Question]) -> list[Question]:
        """Those that no earlier season has asked."""
        return [q for q in made if folded(q.question) not in self._texts and q.program not in self._programs]

    def chosen(self, made: Sequence[Question], count: int) -> list[Question]:
        """So many of the new ones, in the order made: of each type or template in turn, so that none is crowded out."""
        new = self.new(made)
        turn: collections.Counter[str] = collections.Counter()
        places = []
        for place, question in enumerate(new):
            kind = str(question.meta.get("type") or question.meta.get("template") or "")
            places.append((turn[kind], place))
            turn[kind] += 1
        return [new[place] for place in sorted(place for _, place in sorted(places)[:count])]

    def previous(self, out: Path) -> Previous:
        """How the sidecar of the next season's file names the last one."""
        path = self.latest.path
        return Previous(
            version=str(self.latest.version), questions=content_hash(path), file=seen_from(path, out.parent)
        )

    async def changes(self, season: Season, environment: Environment, sandbox: Sandbox, left_out: int) -> list[str]:
        """What is different from the last season, a sentence each.

        Args:
            season: The next season, so far as it is known.
            left_out: Questions that were made and had been asked before.
        """
        return [
            f"{_times(left_out, 'question')} of earlier seasons came again and {_was(left_out)} left out; none is kept",
            *self._inputs(season),
            *await self._old_answers(environment, sandbox),
            *self.lost,
        ]

    def _inputs(self, season: Season) -> Iterable[str]:
        old = self.latest.season
        if old is None:
            yield f"{self.latest.path.name} has no season file: it counts as {self.latest.version}"
            return
        yield _compared("environment", _bare(old.environment), _bare(season.environment))
        yield _compared("environment's knowledge", old.environment_version, season.environment_version)
        if old.templates:
            yield _compared(f"file {Path(season.file).name}", old.templates, season.templates)
        for kind in sorted(set(old.records) | set(season.records)):
            before_, now_ = old.records.get(kind, 0), season.records.get(kind, 0)
            if before_ != now_:
                yield f"records of kind {kind}: {before_:,} -> {now_:,} ({now_ - before_:+,})"

    async def _old_answers(self, environment: Environment, sandbox: Sandbox) -> Iterable[str]:
        solved = await solve(self.latest.questions, environment, sandbox)
        failed = [s.question.id for s in solved if s.error]
        other = [
            s.question.id
            for s in solved
            if not s.error and not any(same_values(s.answer, gold) for gold in s.question.answers)
        ]
        without = len(self.latest.questions) - len(solved)
        of = f"of the {_times(len(self.latest.questions), 'old question')}"
        return [
            f"{len(other):,} {of} would have another answer today{_ids(other)}",
            f"{len(failed):,} {of} can no longer be solved{_ids(failed)}",
            *([f"{without:,} {of} {'has' if without == 1 else 'have'} no program to run again"] if without else []),
        ]


def _bare(environment: str) -> str:
    """An environment's name without the folder of its file."""
    return environment.rpartition("/")[2]


def _compared(what: str, before: str, now: str) -> str:
    return f"the {what} is the same" if before == now else f"the {what} has changed: {before} -> {now}"


def _ids(ids: Sequence[str]) -> str:
    return f" ({', '.join(ids[:NAMED])}{', ...' if len(ids) > NAMED else ''})" if ids else ""


def _times(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"

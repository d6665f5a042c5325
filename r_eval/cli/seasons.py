"""Commands about sets of questions: what `generate --refresh --private` adds to making questions, and split."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from r_eval.errors import UserError

if TYPE_CHECKING:
    from r_eval.environments.base import Environment
    from r_eval.environments.sandbox import Sandbox
    from r_eval.records import Question
    from r_eval.tasks.seasons import Season

COUNT = 20
SEED = 0


class QuestionSet:
    """The question set that `generate` makes: the first of its kind, or the season after earlier ones.

    Args:
        source: The template or graph file.
        out: The question file, or its public half.
        refresh: Question files of earlier seasons.
        private: The private half.
        count, seed: As typed; None takes the default, or with `refresh` what follows from the last season.

    Raises:
        UserError: A file cannot be read, or one would be written over.
    """

    def __init__(
        self,
        source: Path,
        out: Path,
        refresh: Sequence[Path],
        private: Path | None,
        count: int | None,
        seed: int | None,
    ) -> None:
        from r_eval.tasks.seasons import Refresher

        self.source, self.out, self.private = source, out, private
        if private is not None and private.resolve() == out.resolve():
            raise UserError(f"{out} would be the public and the private file: name two")
        self._refresher = Refresher(refresh) if refresh else None
        if self._refresher:
            self._refresher.spare(*([out, private] if private else [out]))
        self.count = count or (self._refresher.count if self._refresher else COUNT)
        self.seed = seed if seed is not None else self._refresher.seed if self._refresher else SEED
        self.questions: list[Question] = []
        self._left_out = 0

    @property
    def wanted(self) -> int:
        """How many questions to make."""
        return self._refresher.wanted(self.count) if self._refresher else self.count

    def choose(self, made: Sequence[Question]) -> None:
        """Keep those that no earlier season has asked, `count` at most."""
        if self._refresher is None:
            self.questions = list(made)[: self.count]
            return
        self._left_out = len(made) - len(self._refresher.new(made))
        self.questions = self._refresher.chosen(made, self.count)

    async def season(self, name: str, environment: Environment, sandbox: Sandbox) -> Season:
        """Where the set comes from, and what is different from the season before.

        Args:
            name: Of the environment; "" where a graph file has a file of triples in its place.
        """
        from r_eval.tasks.seasons.making import next_season, season_of

        where = self.private or self.out
        season = season_of(self.source, where, name, environment, self.seed, len(self.questions))
        if self._refresher is None:
            return season
        return await next_season(self._refresher, season, where, environment, sandbox, self._left_out)

    def write(self, season: Season) -> None:
        """Write the files and say what is new in a season."""
        from r_eval.tasks.seasons.making import write_set

        write_set(self.questions, self.out, season, self.private, self.seed)
        if self._refresher is not None:
            lines = [f"season {season.version}, seed {season.seed}", *season.changes]
            sys.stdout.write("".join(f"{line}\n" for line in lines))


def split_command(questions: Path, public: Path, private: Path, seed: int) -> int:
    """Part a question file into a public and a private one."""
    from r_eval.tasks.questions import read_questions
    from r_eval.tasks.seasons.making import write_set
    from r_eval.tasks.seasons.season import moved, read_season

    found, season = read_questions(questions), read_season(questions)
    for path in (public, private):
        if path.resolve() == questions.resolve():
            raise UserError(f"{path} is the file to be split: name another one to write")
    write_set(found, public, moved(season, questions, private) if season else None, private, seed)
    sys.stdout.write(f"{public}: {len(found)} questions without answers\n{private}: their answers by public id\n")
    return 0

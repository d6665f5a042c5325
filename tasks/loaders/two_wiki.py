"""2WikiMultihopQA, with the aliases of its answers where their file is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.tasks.loaders.base import Item, Raw, RecordFormat, Settings
from r_eval.tasks.loaders.hotpotqa import Titled, titled_question
from r_eval.tasks.loaders.reading import Fault, json_records


class TwoWikiRecord(Titled):
    evidences: list[list[str]] = []
    answer_id: str | None = None


class AliasRecord(Raw):
    Q_id: str
    aliases: list[str] = []
    demonyms: list[str] = []


class TwoWikiSettings(Settings):
    aliases: str | None = None


class TwoWiki(RecordFormat):
    name = "2wikimultihopqa"
    expects = "2WikiMultihopQA: a JSON list of records with _id, type, question, context, evidences and answer"
    signature = frozenset({"question", "answer", "type", "evidences"})
    Raw: ClassVar[type[TwoWikiRecord]] = TwoWikiRecord
    Settings = TwoWikiSettings

    def __init__(self, level: Any = None, **settings: Any) -> None:
        super().__init__(level, **settings)
        self._aliases: dict[str, list[str]] = {}

    def read(self, source: str, size: int | None, seed: int) -> Iterator[Item]:
        path = self.settings.aliases
        self._aliases = read_aliases(Path(path)) if path else {}
        yield from super().read(source, size, seed)

    def question(self, raw: TwoWikiRecord) -> Question:
        others = self._aliases.get(raw.answer_id or "", [])
        return titled_question(self, raw, [raw.answer, *others], triples=raw.evidences)


def read_aliases(path: Path) -> dict[str, list[str]]:
    """Other names of the answers, by their id.

    Raises:
        UserError: The file is not the dataset's alias file.
    """
    found: dict[str, list[str]] = {}
    for record in json_records(path):
        try:
            if isinstance(record, Fault):
                raise UserError(str(record))
            alias = AliasRecord.model_validate(record.data)
        except ValidationError:
            raise UserError(f"{record.place}: expected an alias record with Q_id and aliases") from None
        found[alias.Q_id] = [*alias.aliases, *alias.demonyms]
    return found

"""The sets about understanding: COPEN's three tasks about concepts, and AMiner's profiling.

The questions are put in our own words; the files' are not questions.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BeforeValidator

from r_eval.records import Document, Question
from r_eval.tasks.loaders.base import Broken, Raw, RecordFormat, Text, content_id

Id = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)]


class Named(Raw):
    name: Text


class Entity(Named):
    id: Id


class Similarity(Raw):
    query: Entity
    candidates: list[Entity]
    label: Id


class Property(Raw):
    text: Text
    concept: Named
    label: bool


class InContext(Raw):
    sentence: Text
    entity: Named
    candidates: list[Text] = []
    concept_chains: list[list[Text]] = []
    label: Text


class Csj(RecordFormat):
    """Conceptual similarity: which of about twenty entities is of the same concept."""

    name = "copen-csj"
    expects = "COPEN csj: a JSON list of records with query, candidates and label"
    signature = frozenset({"query", "candidates", "label"})
    level = "KU"
    Raw: ClassVar[type[Similarity]] = Similarity

    def question(self, raw: Similarity) -> Question:
        right = [c.name for c in raw.candidates if c.id == raw.label]
        if not right:
            raise Broken("label: is the id of no candidate")
        names = ", ".join(c.name for c in raw.candidates)
        text = f"Which of these is conceptually the closest to {raw.query.name}: {names}?"
        meta = {"query": raw.query.name, "candidates": [c.name for c in raw.candidates]}
        return self.make(content_id(text), text, right[:1], meta=meta)


class Cpj(RecordFormat):
    """Conceptual property: whether a statement about a concept is true."""

    name = "copen-cpj"
    expects = "COPEN cpj: a JSON list of records with text, concept and label (0 or 1)"
    signature = frozenset({"text", "concept", "label"})
    level = "KU"
    Raw: ClassVar[type[Property]] = Property

    def question(self, raw: Property) -> Question:
        statement = raw.text.rstrip(". ")
        text = f"Is this statement about {raw.concept.name} true or false: {statement}?"
        return self.make(content_id(text), text, ["true" if raw.label else "false"], meta={"concept": raw.concept.name})


class Cic(RecordFormat):
    """Conceptualisation in context: which concept an entity has in a sentence."""

    name = "copen-cic"
    expects = "COPEN cic: a JSON list of records with sentence, entity, label, and candidates or concept_chains"
    signature = frozenset({"sentence", "entity", "label"})
    level = "KU"
    Raw: ClassVar[type[InContext]] = InContext

    def question(self, raw: InContext) -> Question:
        listed = [*raw.candidates, *(concept for chain in raw.concept_chains for concept in chain)]
        concepts = list(dict.fromkeys(_concept(one) for one in listed))
        gold = _concept(raw.label)
        if gold not in concepts:
            raise Broken(f"label: {gold!r} is none of the candidates")
        text = (
            f"Which of the concepts {', '.join(concepts)} fits {raw.entity.name} best, going by this sentence alone: "
            f"{raw.sentence}"
        )
        meta = {"entity": raw.entity.name, "candidates": concepts, "chains": raw.concept_chains}
        return self.make(content_id(text, gold), text, [gold], meta={k: v for k, v in meta.items() if v})


def _concept(label: str) -> str:
    """The concept's name in `<id>_<Concept>`."""
    return label.rpartition("_")[2]


LABELS = (
    "Professor",
    "Associate Professor",
    "Assistant Professor",
    "Researcher",
    "Associate Researcher",
    "Assistant Researcher",
    "Lecturer",
    "Engineer",
    "Senior Engineer",
    "Ph.D",
    "Other",
)


class ProfilingRecord(Raw):
    title_text: Text
    name: Text
    org: str = ""
    title: Text


class Profiling(RecordFormat):
    """Which position a scholar holds, from what a search engine shows."""

    name = "profiling"
    expects = "profiling: a JSON list of records with title_text, org, name and title"
    signature = frozenset({"title_text", "name", "title"})
    level = "KU"
    Raw: ClassVar[type[ProfilingRecord]] = ProfilingRecord

    def question(self, raw: ProfilingRecord) -> Question:
        label = raw.title.partition("(")[0].strip()
        if not label:
            raise Broken("title: holds no label in front of its bracket")
        at = f" ({raw.org.strip()})" if raw.org.strip() else ""
        text = (
            f"Which position does {raw.name}{at} hold, going by these results of a web search? "
            f"Choose one of: {', '.join(LABELS)}.\n{raw.title_text}"
        )
        context = [Document(title=f"{raw.name}{at}", text=raw.title_text)]
        id = content_id(raw.name, raw.org, raw.title_text)
        return self.make(id, text, [label], evidence=[], context=context, meta={"title": raw.title})

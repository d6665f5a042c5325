"""The profiling set of AMiner: which position a scholar holds, from what a search engine shows."""

from __future__ import annotations

from typing import ClassVar

from r_eval.records import Document, Question
from r_eval.tasks.loaders.base import Broken, Raw, RecordFormat, Text, content_id

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

"""Datasets on understanding: COPEN's three concept tasks, AMiner's profiling and KoLA's files.

The questions of COPEN and profiling are in R-Eval's words, since the files contain none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from r_eval.records import Document, Level, Question
from r_eval.tasks.loaders.base import Data, Raw, content_id, convert_records, form, question_of, record_form, text_in
from r_eval.tasks.loaders.reading import InvalidRecord, records


@record_form(
    "copen-csj", "COPEN csj: a JSON list of records with query, candidates and label", "query candidates label"
)
def similarity(raw: Raw) -> Question:
    """Conceptual similarity: which of about twenty entities is of the same concept."""
    query, names = text_in(raw["query"], "name"), [text_in(candidate, "name") for candidate in raw["candidates"]]
    golds = [text_in(candidate, "name") for candidate in raw["candidates"] if str(candidate["id"]) == str(raw["label"])]
    if not golds:
        raise InvalidRecord("label: is the id of no candidate")
    text = f"Which of these is conceptually the closest to {query}: {', '.join(names)}?"
    return question_of(content_id(text), text, golds[:1], "KU", meta={"query": query, "candidates": names})


@record_form(
    "copen-cpj", "COPEN cpj: a JSON list of records with text, concept and label (0 or 1)", "text concept label"
)
def concept_property(raw: Raw) -> Question:
    """Conceptual property: whether a statement about a concept is true."""
    concept, label = text_in(raw["concept"], "name"), str(raw["label"]).lower()
    if label not in ("0", "1", "true", "false"):
        raise InvalidRecord(f"label: must be 0 or 1, not {label[:60]}")
    text = f"Is this statement about {concept} true or false: {text_in(raw, 'text').rstrip('. ')}?"
    answer = "true" if label in ("1", "true") else "false"
    return question_of(content_id(text), text, [answer], "KU", meta={"concept": concept})


@record_form(
    "copen-cic",
    "COPEN cic: a JSON list of records with sentence, entity, label, and candidates or concept_chains",
    "sentence entity label",
)
def concept_in_context(raw: Raw) -> Question:
    """Conceptualisation in context: which concept (`<id>_<Concept>`) an entity has in a sentence."""
    chains = raw.get("concept_chains", [])
    labels = [*raw.get("candidates", []), *(concept for chain in chains for concept in chain)]
    concepts = list(dict.fromkeys(candidate.rpartition("_")[2] for candidate in labels))
    entity, gold = text_in(raw["entity"], "name"), text_in(raw, "label").rpartition("_")[2]
    if gold not in concepts:
        raise InvalidRecord(f"label: {gold!r} is none of the candidates")
    text = (
        f"Which of the concepts {', '.join(concepts)} fits {entity} best, going by this sentence alone: "
        f"{text_in(raw, 'sentence')}"
    )
    meta = {"entity": entity, "candidates": concepts, "chains": chains}
    return question_of(content_id(text, gold), text, [gold], "KU", meta=meta)


LABELS = (
    "Professor, Associate Professor, Assistant Professor, Researcher, Associate Researcher, Assistant Researcher, "
    "Lecturer, Engineer, Senior Engineer, Ph.D, Other"
)


@record_form(
    "profiling", "profiling: a JSON list of records with title_text, org, name and title", "title_text name title"
)
def profiling(raw: Raw) -> Question:
    """The position of a scholar by search results; the gold is the title up to its bracket."""
    name, results, org = text_in(raw, "name"), text_in(raw, "title_text"), raw.get("org", "")
    scholar = f"{name} ({org.strip()})" if org.strip() else name
    return question_of(
        content_id(name, org, results),
        f"Which position does {scholar} hold, going by these results of a web search? "
        f"Choose one of: {LABELS}.\n{results}",
        [text_in(raw, "title").partition("(")[0]],
        "KU",
        context=[Document(title=scholar, text=results)],
        meta={"title": raw["title"]},
    )


LEVELS: dict[str, Level] = {"1": "KS", "2": "KU", "3": "KA"}


@form(
    "kola",
    "KoLA: a JSON object with adapter_spec and request_states, each an instance with input and references",
    "request_states",
    general=True,
)
def kola(source: str, settings: Any, data: Data) -> Iterator[Question]:
    """KoLA's requests to a model; the level is the first digit of the file's name (`2-1_...`).

    Ids of the file are not unique, so a hash of the content is appended.
    """
    match = re.match(r"([123])-\d", Path(source).name)
    level = LEVELS[match[1]] if match else "KA"

    def question(raw: Raw) -> Question:
        instance = raw["instance"]
        text = without_demonstrations(text_in(instance["input"], "text"))
        golds = [r["output"]["text"] for r in instance["references"] if not r.get("tags") or "correct" in r["tags"]]
        id, content = instance.get("id"), content_id(text, *golds)
        meta = {"id": id, "split": instance.get("split")}
        return question_of(f"{id}-{content}" if id else content, text, golds, level, meta=meta)

    return convert_records(records(source, inside="request_states"), question, data)


def without_demonstrations(text: str) -> str:
    """The last question of a few-shot prompt in the form "Q: ... A: ...", whose own answer is open."""
    if not re.search(r"\n\s*A:\s*$", text):
        return text.strip()
    question = re.sub(r"\n\s*A:\s*$", "", text)
    return re.split(r"(?:^|\n)\s*Q:\s*", question)[-1].strip()

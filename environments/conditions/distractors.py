"""What a search should not have found: passages and records of anything, of what is called alike, or copies that say
something else; and how it is told, without holding an answer, what is no noise for a question.

A record of a search result has a field by which other calls ask for it, `id` or one that ends in `_id`. What is mixed
in has a value there that nothing found has, and never fits all that was asked for: whoever reads the record sees that
it is not what was looked for.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import random
import re
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.conditions.alternatives import KINDS, near_number
from r_eval.environments.conditions.replacing import tokens
from r_eval.environments.schema import ApiSpec
from r_eval.records import Question

LENGTHS = ("top_k", "k", "limit", "max_results")
"""Parameters by which a search for passages is known: they say how many results are wanted."""
VERBS = ("search", "find", "query")
"""What the name of a query API that looks for records begins with."""
LONGEST = 100_000
"""Characters of a passage that are looked at."""
DIGITS = re.compile(r"[0-9]{1,18}")
NAME = re.compile(r"(?<=[a-zà-ÿа-яё,] )[A-ZÀ-ÞА-ЯЁ][a-zà-ÿа-яё]{2,}")
"""A word with a capital that does not begin a sentence."""
SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
WORD = re.compile(r"\w+")

Passage = dict[str, Any]
Record = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Screen:
    """Recognises passages from relevant documents, and those that contain a gold answer or evidence.

    Attributes:
        documents: Ids of the relevant documents.
        phrases: The number of words and a digest of each answer and piece of evidence: no environment can read them.
    """

    documents: Collection[str] = ()
    phrases: Collection[str] = ()

    @classmethod
    def of(cls, question: Question) -> Screen:
        """The screen of a question."""
        values = [value for gold in question.answers for value in gold.split(";")]
        documents = question.meta.get("text_ids")
        phrases = {_digest(words) for words in map(tokens, (*values, *question.evidence)) if words}
        return cls(sorted(map(str, documents if isinstance(documents, list) else ())), sorted(phrases))

    def excludes(self, key: str, text: str) -> bool:
        """Whether a passage is from a relevant document, or an answer or evidence stands in its text as whole words."""
        if key in self.documents or key.rpartition("#")[0] in self.documents:
            return True
        words, phrases = tokens(text[:LONGEST]), frozenset(self.phrases)
        lengths = {int(phrase.partition(" ")[0]) for phrase in phrases}
        return any(
            _digest(words[start : start + length]) in phrases
            for length in lengths
            for start in range(len(words) - length + 1)
        )


def _digest(words: Sequence[str]) -> str:
    text = " ".join(words).encode("utf-8", "surrogatepass")
    return f"{len(words)} {hashlib.blake2b(text, digest_size=8).hexdigest()}"


# Passages


def length_parameter(spec: ApiSpec) -> str:
    """The parameter of a search that says how many results are wanted; "" for what is no search for passages."""
    return next((parameter.name for parameter in spec.parameters if parameter.name in LENGTHS), "")


def are_passages(value: Any) -> bool:
    """Whether a result is a list of passages: records, at least one, each with a text."""
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in value)


def excerpt(document: Passage, results: Sequence[Passage]) -> Passage:
    """The first sentences of a document in the form of what was found, and about as long as that is at the median."""
    length = int(statistics.median(len(passage["text"]) for passage in results))
    text = str(document.get("text", ""))
    end = SENTENCE_END.search(text, length // 2)
    own = {**document, "id": document.get("id", ""), "text": text[: end.end()] if end else text}
    return {key: own.get(key, value) for key, value in results[0].items()}


def near_duplicates(results: Sequence[Passage], draw: random.Random) -> Iterator[Passage]:
    """What was found, the best first, with other numbers, or with another name where there is no number.

    A passage with neither is left out, as is one that is too long to be a passage.
    """
    results = [passage for passage in results if len(passage["text"]) <= LONGEST]
    names = sorted({name for passage in results for name in NAME.findall(passage["text"])})
    ids = {str(passage.get("id", "")) for passage in results}

    def other_number(found: re.Match[str]) -> str:
        drawn = (near_number(found[0], draw) for _ in range(100))
        return next((number for number in drawn if number != found[0]), found[0])

    for passage in results:
        text = DIGITS.sub(other_number, passage["text"])
        own, others = NAME.search(text), [name for name in names if name not in text]
        if text == passage["text"] and own and others:
            other = draw.choice(others)
            text = re.sub(rf"\b{re.escape(own[0])}\b", lambda _: other, text)  # noqa: B023  called at once
        if text != passage["text"]:
            yield {**passage, "text": text} | ({"id": _other_id(passage["id"], ids, draw)} if "id" in passage else {})


def _other_id(key: Any, used: Collection[str], draw: random.Random) -> str:
    """The id of another passage of the same document, which was not found."""
    document, mark, place = str(key).rpartition("#")
    most = int(place) if mark and place.isdecimal() and len(place) < 9 else len(used)
    ids = (f"{document if mark else key}#{number}" for number in itertools.count(draw.randint(1, most + 9)))
    return next(one for one in ids if one not in used)


# Records


def finds_records(spec: ApiSpec) -> bool:
    """Whether a query API is a search by its name that returns a list of records."""
    schema = spec.result
    items = schema.get("items", {}) if schema.get("type") == "array" else {}
    return spec.name.casefold().startswith(VERBS) and items.get("type") == "object"


def id_field(results: Any) -> str:
    """The field by which the records of a result are known; "" where it is no list of records with one."""
    if not isinstance(results, list) or not results or not all(isinstance(one, dict) for one in results):
        return ""
    names = [name for name in results[0] if name == "id" or name.endswith("_id")]
    return next((name for name in names if all(isinstance(one.get(name), str) for one in results)), "")


def pool_of(environment: Environment, results: Sequence[Record]) -> list[Record]:
    """All records of the environment that have the fields of what was found, with these fields alone."""
    fields = list(results[0])
    for kind in KINDS:
        try:
            records = environment.records(kind)
        except KeyError:
            continue
        if records and all(field in records[0] for field in fields):
            return [{field: record[field] for field in fields} for record in records]
    return []


def distracting(
    noise: str, pool: Sequence[Record], results: Sequence[Record], arguments: dict[str, Any], draw: random.Random
) -> Iterator[Record]:
    """Records that were not found and do not fit, the first the best.

    Args:
        noise: "unrelated", drawn by chance; "sibling", those that share the most words with the arguments;
            "near-duplicate", what was found with other figures and another word in place of one of the arguments',
            under an id that nobody has.
        pool: All that there are.
    """
    key = id_field(results)
    wanted = [set(tokens(value)) for value in arguments.values() if isinstance(value, str)]
    if noise == "near-duplicate":
        others: Iterable[Record | None] = (_copy(one, key, set().union(*wanted), pool, draw) for one in results)
    else:
        known = {record[key] for record in results}
        unknown = [record for record in pool if record[key] not in known]
        others = draw.sample(unknown, len(unknown))
    pairs = ((set(tokens(text_of(record, key))), record) for record in others if record)
    unfit = ((words, record) for words, record in pairs if not (wanted and all(words >= one for one in wanted)))
    if noise == "sibling":
        shared = [(sum(len(one & words) for one in wanted), record) for words, record in unfit]
        yield from (record for number, record in sorted(shared, key=lambda pair: -pair[0]) if number)
    else:
        yield from (record for _, record in unfit)


def text_of(record: Record, key: str = "") -> str:
    """All that a record says, but for its id."""
    values = [value for name, value in record.items() if name != key]
    return "\n".join(str(part) for value in values for part in (value if isinstance(value, list) else [value]))


def _copy(record: Record, key: str, wanted: set[str], pool: Sequence[Record], draw: random.Random) -> Record | None:
    """A record with other figures, another word in place of one of those wanted, and an id of the same form.

    None where no such word stands in it.
    """
    for name, text in record.items():
        if name == key or not isinstance(text, str):
            continue
        own = [word for word in WORD.findall(text) if wanted & set(tokens(word))]
        others = [word for other in pool for word in WORD.findall(str(other[name])) if word[0].isupper()]
        others = [word for word in others if not wanted & set(tokens(word))]
        if own and others:
            changed = text.replace(draw.choice(own), draw.choice(others))
            figures = {one: int(near_number(str(n), draw)) for one, n in record.items() if type(n) is int and n >= 0}
            number = "".join(draw.choice("0123456789abcdef") if sign.isalnum() else sign for sign in record[key])
            return {**record, **figures, name: changed, key: number}
    return None

"""Records that a search should not have found: of anything, of what is called alike, copies that say something else.

A record of a search result has a field by which other calls ask for it, `id` or one that ends in `_id`. What is mixed
in has a value there that nothing found has, and never fits all that was asked for: whoever reads the record sees that
it is not what was looked for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

from r_eval.environments.base import Environment
from r_eval.environments.conditions.alternatives import KINDS, near_number
from r_eval.environments.conditions.replacing import tokens
from r_eval.environments.schema import ApiSpec

VERBS = ("search", "find", "query")
"""What the name of a query API that looks for records begins with."""
WORD = re.compile(r"\w+")

Record = dict[str, Any]


def finds_records(spec: ApiSpec) -> bool:
    """Whether a query API is a search by its name that returns a list of records."""
    schema = spec.returns_schema()
    items = schema.get("items", {}) if schema.get("type") == "array" else {}
    return spec.name.casefold().startswith(VERBS) and items.get("type") == "object"


def id_of(results: Any) -> str:
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
    key = id_of(results)
    wanted = [set(tokens(value)) for value in arguments.values() if isinstance(value, str)]

    def words_of(record: Record) -> set[str]:
        return set(tokens(text_of(record, key)))

    def fits(words: set[str]) -> bool:
        return bool(wanted) and all(words >= each for each in wanted)

    if noise == "near-duplicate":
        copies = (_copy(record, key, set().union(*wanted), pool, draw) for record in results)
        yield from (copy for copy in copies if copy and not fits(words_of(copy)))
        return
    known = {record[key] for record in results}
    others = [record for record in pool if record[key] not in known]
    draw.shuffle(others)
    if noise == "unrelated":
        yield from (record for record in others if not fits(words_of(record)))
        return
    pairs = [(words_of(record), record) for record in others]
    shared = [(sum(len(each & words) for each in wanted), record) for words, record in pairs if not fits(words)]
    yield from (record for number, record in sorted(shared, key=lambda pair: -pair[0]) if number)


def text_of(record: Record, key: str = "") -> str:
    """All that a record says, but for its id."""
    values = [value for name, value in record.items() if name != key]
    return "\n".join(str(part) for value in values for part in (value if isinstance(value, list) else [value]))


def _copy(record: Record, key: str, wanted: set[str], pool: Sequence[Record], draw: random.Random) -> Record | None:
    """A record with other figures, another word in place of one of those wanted, and an id of the same form.

    None where no such word stands in it.
    """
    texts = {name: value for name, value in record.items() if name != key and isinstance(value, str)}
    for name, text in texts.items():
        own = [word for word in WORD.findall(text) if wanted & set(tokens(word))]
        others = [word for other in pool for word in WORD.findall(str(other[name])) if word[0].isupper()]
        others = [word for word in others if not wanted & set(tokens(word))]
        if own and others:
            changed = text.replace(draw.choice(own), draw.choice(others))
            figures = {one: int(near_number(str(n), draw)) for one, n in record.items() if type(n) is int and n >= 0}
            number = "".join(draw.choice("0123456789abcdef") if sign.isalnum() else sign for sign in record[key])
            return {**record, **figures, name: changed, key: number}
    return None

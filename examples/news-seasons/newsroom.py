"""Scripted LLMs of a few lines each, so that the example needs no model.

`scripted/newsroom.py:facts` extracts triples from reports. `careful` and `hasty` are compared: the first reads all
retrieved passages, the second only the first one.
"""

from __future__ import annotations

import json
import re

from r_eval.llms.base import Request

NAME = r"[A-Z]\w+(?: (?:and )?[A-Z]\w+)*"
BUILT = re.compile(rf"(?P<building>{NAME}) in (?P<town>{NAME}).*?built by (?P<firm>{NAME}).*?cost (?P<cost>\d+)", re.S)
BUILT_RU = re.compile(
    r"городе (?P<town>\w+) открыл\w+ (?P<building>\w+ \w+)\..*?фирма «(?P<firm>[^»]+)».*?стоил\w* (?P<cost>\d+)", re.S
)
OFFICE = re.compile(rf"(?P<person>{NAME}), (?P<office>mayor|head) of (?P<place>{NAME})")
MAYOR_RU = re.compile(r"(?P<person>\w+ \w+), мэр города (?P<place>\w+)")

ASKED = {
    "mayor": ("mayor",),
    "head": ("head",),
    "builder": ("built", "builder"),
    "town": ("which town", "stand in", "stands in"),
    "cost": ("cost",),
    "мэр": ("мэр",),
    "строитель": ("построил",),
    "стоимость": ("стоил",),
    "город": ("в каком городе", "в городе"),
}
"""Words of a question by the relation that it asks for."""


def facts(request: Request) -> str:
    """The triples of a report, as JSON."""
    return json.dumps(triples(request.messages[-1].content), ensure_ascii=False)


def careful(request: Request) -> str:
    """Answers from all passages."""
    return answer(*passages_and_question(request))


def hasty(request: Request) -> str:
    """Answers from the first passage."""
    passages, question = passages_and_question(request)
    return answer(passages.partition("\n\n[2]")[0], question)


def triples(text: str) -> list[tuple[str, str, str]]:
    """What a text says, in sentences of the form that our reports have."""
    rows = []
    for match in BUILT.finditer(text):
        building = match["building"]
        rows += [(building, "town", match["town"]), (building, "builder", match["firm"])]
        rows.append((building, "cost", match["cost"]))
    for match in BUILT_RU.finditer(text):
        building = match["building"]
        rows += [(building, "город", match["town"]), (building, "строитель", match["firm"])]
        rows.append((building, "стоимость", match["cost"]))
    rows += [(match["place"], match["office"], match["person"]) for match in OFFICE.finditer(text)]
    rows += [(match["place"], "мэр", match["person"]) for match in MAYOR_RU.finditer(text)]
    return rows


def passages_and_question(request: Request) -> tuple[str, str]:
    """The passages and the question of a prompt."""
    passages, _, question = request.messages[-1].content.rpartition("Question:")
    return passages, question


def answer(passages: str, question: str) -> str:
    """The other ends of all facts of the relation that is asked for; of a comparison, that with the larger number."""
    text, known = question.casefold(), triples(passages)
    relations = [name for name, words in ASKED.items() if any(word in text for word in words)]
    named = {end for s, _, o in known for end in (s, o) if end in question}
    if relations == ["cost"] and len(named) > 1:
        return max((int(o), s) for s, r, o in known if r == "cost" and s in named)[1]
    return "; ".join(ends(known, relations, named) or ends(known, relations, bridges(known, named))) or "unknown"


def ends(known: list[tuple[str, str, str]], relations: list[str], of: set[str]) -> list[str]:
    """What facts of some relations have at the other end of some names."""
    about = [(s, o) for s, r, o in known if r in relations and (s in of) != (o in of)]
    return list(dict.fromkeys(o if s in of else s for s, o in about))


def bridges(known: list[tuple[str, str, str]], named: set[str]) -> set[str]:
    """What is one fact away from some names."""
    return set(ends(known, sorted({r for _, r, _ in known}), named))

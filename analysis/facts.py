"""What is known of a question besides its text: how many calls lead to its answer, and what kind of answer that is.

From the question's own record, so that the error analysis can say what failed questions have in common.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from r_eval.analysis.metrics.closed import WORDS
from r_eval.analysis.metrics.literals import gold_values
from r_eval.records import Question

_NUMBER = re.compile(r"[-+−]?[$€£¥]?\d[\d.,]*\s*%?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\d{{4}}[-/.]\d{{1,2}}(?:[-/.]\d{{1,2}})?|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}|\d{{4}}年(?:\d+月(?:\d+日)?)?"
    rf"|(?:{_DAY} (?:of )?)?{_MONTH},? (?:{_DAY},? )?\d{{4}}",
    re.IGNORECASE,
)
_YEAR = re.compile(r"1[0-9]\d\d|20\d\d")
_ASKS_WHEN = re.compile(r"\b(?:when|year|date|century|born|founded|established)\b|年|何时", re.IGNORECASE)
_LONGEST_NAME = 12  # words
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a question; "" for what is not.

    Attributes:
        place: In the order of the task's questions.
        hops: Query API calls of the gold program, or what the data set says.
        kind: Of the first gold: yes/no, number, date, list, name or text.
        popularity: Of the entity that is asked about, as the question or the task's name says.
    """

    place: int = 0
    hops: str = ""
    kind: str = ""
    popularity: str = ""


def facts_of(task: str, questions: Iterable[Question]) -> dict[str, Facts]:
    """What is known of a task's questions, by their ids."""
    return {
        question.id: Facts(place, hops(question), kind(question), popularity(task, question))
        for place, question in enumerate(questions)
    }


def hops(question: Question) -> str:
    """How many query API calls lead to the answer: as the data set says, else as the gold program is written.

    A call in a loop counts once. "" where neither is known.
    """
    said = question.meta.get("hops")
    if isinstance(said, int) and not isinstance(said, bool) and said > 0:
        return bucket(said)
    return bucket(api_calls(question.program) or None) if question.program else ""


def api_calls(program: str) -> int:
    """The calls in a program of functions that are neither Python's nor its own; 0 where it cannot be read."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of an escape that Python does not know
            tree = ast.parse(program)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return 0
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    called = [node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return sum(name not in own and name not in _BUILTINS for name in called)


def kind(question: Question) -> str:
    """The kind of a question's first gold. Four digits are a year where the question asks for one."""
    gold = question.answers[0].strip()
    values = gold_values(gold)
    if len(values) != 1:
        return "list" if values else ""
    value = values[0].strip()
    if value.lower().rstrip(".") in WORDS:
        return "yes/no"
    if _DATE.fullmatch(value) or (_YEAR.fullmatch(value) and _ASKS_WHEN.search(question.question)):
        return "date"
    if _NUMBER.fullmatch(value):
        return "number"
    return "name" if len(value.split()) <= _LONGEST_NAME else "text"


def popularity(task: str, question: Question) -> str:
    """How popular the entity is that is asked about: the question's own word, or high or low by the task's name."""
    for key in ("popularity", "frequency"):
        if isinstance(question.meta.get(key), str):
            return str(question.meta[key])
    return popularity_by_name(task)


def popularity_by_name(task: str) -> str:
    """How popular a task's entities are, as its name says: wiki/high-freq, wiki/low-freq."""
    found = re.search(r"\b(high|low)[-_ ]freq", task)
    return found[1] if found else ""


def bucket(count: int | None) -> str:
    """A number of calls as it is grouped; "" for none."""
    if count is None:
        return ""
    if count < 5:
        return str(count)
    return "5 to 9" if count < 10 else "10 or more"

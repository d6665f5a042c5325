"""The table of question types: retrieval and generation of each system, type by type."""

from __future__ import annotations

from collections.abc import Sequence

from r_eval.analysis.columns import Shared
from r_eval.analysis.question_types import OfType, question_types, typed_questions
from r_eval.analysis.systems import System
from r_eval.analysis.tables.findings import by_condition, ends, with_ends, with_interval
from r_eval.analysis.tables.scores import NAMES, percent
from r_eval.analysis.tables.sheet import ABSENT, Sheet
from r_eval.folder import RunFolder

TITLE = "Retrieval and generation by type of question, percent"
ALL_TYPES = "all types"
NOTES = [
    "Generation: the score of the answers. Retrieval: the mean of hit rate, recall and NDCG of what was found, where "
    "the right documents or evidence are known. Percent, with intervals of 95 %; total: their sum, up to 200. Over all "
    "types means over questions.",
    "Missing: questions without a score; they count 0.",
]


def question_types_sheets(runs: Sequence[RunFolder], systems: Sequence[System], shared: Shared) -> list[Sheet]:
    """The table, where questions of the runs have types.

    Args:
        shared: By task and question, what a question shares with others.
    """
    typed = typed_questions(runs)
    found = question_types(systems, typed, shared) if typed.types else []
    return [question_types_sheet(found)] if found else []


def question_types_sheet(found: Sequence[OfType]) -> Sheet:
    """A line a system, condition and type, and one over all types of a system."""
    header = [*NAMES, "condition", "type", "n", "missing", *with_ends(["retrieval", "generation"]), "total"]
    lines = [
        [
            *(one.system, one.workflow, one.llm, one.condition, one.type or ALL_TYPES, one.n, one.missing),
            *(*ends(one.retrieval), *ends(one.generation), percent(one.total)),
        ]
        for one in found
    ]
    shown = ["workflow", "llm", "type", "n", "retrieval", "generation", "total", "missing"]
    views = by_condition(TITLE, shown, found, _shown, NOTES)
    return Sheet("question_types", TITLE, header, lines, views, NOTES)


def _shown(one: OfType) -> list[str]:
    total = ABSENT if one.total is None else f"{100 * one.total:.1f}"
    parts = [with_interval(one.retrieval), with_interval(one.generation)]
    return [one.workflow, one.llm, one.type or ALL_TYPES, str(one.n), *parts, total, str(one.missing)]

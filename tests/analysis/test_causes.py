"""Causes: every word that the source can record has one, and steps are counted as what they were."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from r_eval.analysis.causes import CAUSES, EXCEPTIONS, GENERAL, STEP_ERRORS, actions, declines, named, why
from r_eval.analysis.response_types import LIMITS, classify
from r_eval.llms.base import LLMError
from r_eval.records import CallError, Episode, Outcome, OutcomeKind, Step

Make = Callable[..., Episode]
MakeCall = Callable[..., Step]
ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    [
        *(ROOT / "workflows").glob("*.py"),
        *(ROOT / "r_eval" / "llms").glob("*.py"),
        ROOT / "environments" / "session.py",
        ROOT / "environments" / "sandbox.py",
        ROOT / "r_eval" / "runner" / "episode.py",
        ROOT / "r_eval" / "runner" / "episode_llm.py",
    ]
)
WORDS_OF = {
    "LimitReached": "exhausted",
    "LLMError": "llm_failure",
    "ProgramError": "tool_misuse",
    "fault": "step",
}
"""Calls whose first argument is a word, and what it is a word of."""


def texts(node: ast.AST | None) -> list[str]:
    """The texts that an expression can be: of a condition both sides, of a look-up the values."""
    if isinstance(node, ast.IfExp):
        return [*texts(node.body), *texts(node.orelse)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        values = node.func.value.values if isinstance(node.func.value, ast.Dict) else []
        return [text for part in [*values, *node.args[1:]] for text in texts(part)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def words(tree: ast.AST, assigned: str) -> Iterator[tuple[str, str]]:
    """The words in a module with what they are words of; `assigned` is that of what is called a cause in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            given = [*node.args, None, None, None]
            if name == "ended":
                yield from ((str(getattr(given[0], "value", "")), word) for word in texts(given[1]))
            elif name == "CallResult":
                yield from (("step", word) for word in texts(given[2]))
            elif name == "model_construct":
                yield from (("step", word) for key in node.keywords if key.arg == "error" for word in texts(key.value))
            elif name in WORDS_OF:
                yield from ((WORDS_OF[name], word) for word in texts(given[0]))
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "cause":
            yield from ((assigned, word) for word in texts(node.value))
        elif isinstance(node, ast.FunctionDef) and node.name == "_cause":
            returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return)]
            yield from ((assigned, word) for value in returned for word in texts(value))


def vocabulary() -> list[tuple[str, str]]:
    found = set()
    for path in SOURCES:
        assigned = "tool_misuse" if path.name == "sandbox.py" else "llm_failure"
        for kind, word in words(ast.parse(path.read_text(encoding="utf-8")), assigned):
            found.add((LLMError.OUTCOMES.get(word, kind) if kind == "llm_failure" else kind, word))
    found |= {(kind, word) for word, kind in LLMError.OUTCOMES.items()}
    return sorted(found)


VOCABULARY = vocabulary()


@pytest.mark.parametrize(("kind", "word"), VOCABULARY)
def test_every_word_of_the_source_has_a_cause_of_its_own(kind: str, word: str) -> None:
    if kind == "step":
        assert STEP_ERRORS[word] in CAUSES
        return
    cause = named(Outcome(kind=kind, cause=word))  # type: ignore[arg-type]
    assert cause in CAUSES
    is_general = cause == GENERAL[kind]  # type: ignore[index]
    assert not is_general or (kind, word) in {
        ("gave_up", "give_up"),
        ("tool_failure", "environment"),
        ("cancelled", "stopped"),
    }


def test_every_error_of_a_call_or_a_reply_has_a_cause() -> None:
    errors = {*get_args(CallError), "length", "content_filter", "refusal", "empty", "invented", "unparsed"}
    assert errors == set(STEP_ERRORS)
    assert {*STEP_ERRORS.values(), *EXCEPTIONS.values(), *GENERAL.values(), *LIMITS} <= set(CAUSES)
    assert all(sentence.endswith(".") for sentence in CAUSES.values())
    assert set(GENERAL) == set(get_args(OutcomeKind))


@pytest.mark.parametrize(
    ("kind", "cause", "answer"),
    [
        ("tool_misuse", "syntax", ""),
        ("tool_misuse", "no_program", ""),
        ("exhausted", "steps", ""),
        ("gave_up", "empty_reply", ""),
        ("finished", "", "I cannot answer, weil 内"),
        ("finished", "", ""),
        ("finished", "", "Mombasa"),
    ],
)
def test_a_last_reply_that_was_cut_is_the_cause_whatever_came_of_it(
    make_episode: Make, kind: str, cause: str, answer: str
) -> None:
    steps = [
        Step(kind="thought", text="answer = Search(", error="length"),
        Step(kind="observation", text="Not Python."),
    ]
    made = make_episode(answer=answer, outcome=Outcome(kind=kind, cause=cause), steps=steps)  # type: ignore[arg-type]
    assert why(made, classify(made, 0.0)) == "cut_off"


@pytest.mark.parametrize("observation", ["", "0 results.", "[]", "{}", "null", " \n"])
def test_an_empty_result_found_nothing(make_call: MakeCall, observation: str) -> None:
    made = actions([make_call(observation)])
    assert (made.right, made.found, made.main_fault()) == (1, 0, "empty_search")


DECLINES = "I'm sorry, I can't help with that.|Unknown.|N/A|The answer cannot be determined.|I do not know.|无法确定"
DECLINES += "|I could not find the page.|No information was found."


@pytest.mark.parametrize("answer", DECLINES.split("|"))
def test_an_answer_can_decline(answer: str) -> None:
    assert declines(answer)


@pytest.mark.parametrize("answer", ["", "Paris", "the unknown soldier", "No", "Unknown Pleasures", "Not Fade Away"])
def test_an_answer_that_only_looks_like_it_does_not_decline(answer: str) -> None:
    assert not declines(answer)

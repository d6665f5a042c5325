"""What a gold answer and a question's text say about each other: golds that containment cannot judge, answers that
stand in the question, questions that differ in form only.

A question may name its answer where it offers a choice ("Which is longer, the Rhine or the Elbe?"). That is taken for
one where the answer stands at a comma, an "or" or the like, and the question has an "or", an "of ... and", or a list;
or where meta's `choices` or `candidates` are named in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from r_eval.analysis.metrics.literals import gold_values
from r_eval.analysis.metrics.normalise import tokens
from r_eval.analysis.responses import Observed, Response, classify
from r_eval.records import SCHEMA, Episode, Outcome, Question, Step
from r_eval.tasks.questions import folded

PASSAGE = 60
"""Words of a question from which on it is taken to bring a text along."""
NEAR = 60
"""Characters before an answer among which the mark of a choice is looked for."""

_OR = r"\b(?:or|oder|ou|или)\b|还是|或"
_AND = r"\b(?:and|und|et|и)\b|和|与"
_MARK = r"[,;:\n|/、，；：]"
_ARTICLE = r"(?:\b(?:the|an?|der|die|das|le|la|les|el|los)\b|\d+[.)]|[-*•(\"'“«「《]|\s)*"
_BEFORE = re.compile(rf"(?:^|{_MARK}|{_OR}|{_AND}|\b(?:of|between|among|either|both|than)\b){_ARTICLE}$", re.IGNORECASE)
_AFTER = re.compile(rf"[\"'”»」》)\s]*(?:$|[.?？]|{_MARK}|{_OR}|{_AND})", re.IGNORECASE)
_OFFERS = re.compile(
    rf"{_OR}|\b(?:of|between|among|either|both)\b.*(?:{_AND})|(?:[,;\n|、，；].*){{2}}", re.IGNORECASE | re.DOTALL
)

_STOP_WORDS = (
    "a an the is are was were be been being am do does did has have had of in on at to for by with and or that this "
    "these those it its there please tell me can could you which what 的 了 是 在 吗"
)
"""Words that ask for nothing of their own. Who, when, where, how and not are none of them."""
_STOP = frozenset(_STOP_WORDS.split())


def judged_by_containment(question: Question) -> bool:
    """Whether the evidence of an episode can show that it was supported.

    Asked of the rule itself: an observation that holds the golds must not leave the response type undecided. The ids of
    right documents decide without any containment.
    """
    seen = [Step(kind="call", observation="\n".join(question.answers))]
    return bool(question.meta.get("text_ids")) or not response(seen, question, 0.0).undecided


def response(steps: Sequence[Step], question: Question, score: float, metric: str = "") -> Response:
    """The response type of an episode that took these steps and ended with a score of some metric."""
    episode = Episode(
        schema=SCHEMA,
        episode_id="",
        question_id=question.id,
        task="",
        domain="",
        level=question.level,
        workflow="",
        llm="",
        condition="",
        question=question.question,
        golds=question.answers,
        evidence=question.evidence,
        answer="",
        outcome=Outcome(kind="finished"),
        steps=list(steps),
    )
    return classify(episode, score, metric=metric)


def leaked(question: Question) -> bool:
    """Whether an answer stands in the question as whole tokens and the question offers no choice.

    Golds that any text holds by chance (yes, no, small numbers) are no leak, and neither is any in a question so long
    that it brings along the text from which the answer is to be taken.
    """
    if len(tokens(question.question)) > PASSAGE or not judged_by_containment(
        question.model_copy(update={"evidence": [], "meta": {}})
    ):
        return False
    asked = Observed([question.question])
    for gold in question.answers:
        values = gold_values(gold)
        if values and all(asked.holds(value) for value in values):
            return not all(_offered(value, question, asked) for value in values)
    return False


def _offered(value: str, question: Question, asked: Observed) -> bool:
    """Whether the question names the value as one of several candidates."""
    for key in ("choices", "candidates"):
        listed = question.meta.get(key)
        if isinstance(listed, list) and sum(isinstance(c, str) and asked.holds(c) for c in listed) > 1:
            return any(isinstance(c, str) and tokens(c) == tokens(value) for c in listed)
    text = question.question
    return _OFFERS.search(text) is not None and any(
        _BEFORE.search(_end(text[: found.start()])) or _AFTER.match(text[found.end() :])
        for found in re.finditer(re.escape(value), text, re.IGNORECASE)
    )


def _end(text: str) -> str:
    """The end of a text, so that a long one is not searched again and again."""
    return text if len(text) <= NEAR else f"\0{text[-NEAR:]}"


def nearly_repeated(questions: Sequence[Question], known: Sequence[Question] = ()) -> list[Question]:
    """Questions that have the words of an earlier one and its answers: in another order, case or punctuation, or with
    other words that ask for nothing.

    Texts that differ in a name or a number are different questions. Those that differ in case and spaces only are not
    among the result: they are repeated, not nearly so.

    Args:
        known: Compare with these, and not with each other.
    """
    first = {_key(q): q for q in reversed(known)}
    found = []
    for question in questions:
        earlier = first.get(_key(question)) if known else first.setdefault(_key(question), question)
        if earlier is not None and earlier is not question and folded(earlier.question) != folded(question.question):
            found.append(question)
    return found


def _key(question: Question) -> tuple[object, ...]:
    """What questions that ask the same have in common."""
    return _content(question.question), frozenset(tuple(sorted(tokens(gold))) for gold in question.answers)


def _content(text: str) -> tuple[str, ...]:
    found = tokens(text)
    return tuple(sorted(word for word in found if word not in _STOP)) or found

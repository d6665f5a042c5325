"""What a gold answer and a question's text say about each other: golds that containment cannot judge, answers that
the question itself contains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from r_eval.analysis.metrics.literals import gold_values
from r_eval.analysis.metrics.normalise import tokens
from r_eval.analysis.response_types import Observed, Response, classify
from r_eval.records import SCHEMA, Episode, Outcome, Question, Step

PASSAGE = 60
"""Words of a question from which on it is taken to bring a text along."""
OR = re.compile(r"\b(?:or|oder|ou|или)\b|还是|或", re.IGNORECASE)
AND = re.compile(r"\b(?:of|between|among|both)\b.{1,300}\b(?:and|und|et|и)\b", re.IGNORECASE | re.DOTALL)
SEPARATORS = ",;\n|、，；"


def response(steps: Sequence[Step], question: Question, score: float, metric: str = "") -> Response:
    """The response type of an episode that took these steps and ended with a score of some metric."""
    names = dict.fromkeys(("episode_id", "task", "domain", "workflow", "llm", "condition", "answer"), "")
    episode = Episode(
        **names,  # type: ignore[arg-type]  # all of them are texts
        schema=SCHEMA,
        question_id=question.id,
        level=question.level,
        question=question.question,
        golds=question.answers,
        evidence=question.evidence,
        outcome=Outcome(kind="finished"),
        steps=list(steps),
    )
    return classify(episode, score, metric=metric)


def judged_by_containment(question: Question) -> bool:
    """Whether the evidence of an episode can show that it was supported.

    The rule itself decides: an observation that holds the golds must not leave the response type undecided. The ids of
    right documents decide without any containment.
    """
    seen = [Step(kind="call", observation="\n".join(question.answers))]
    return bool(question.meta.get("text_ids")) or not response(seen, question, 0.0).undecided


def leaked(question: Question) -> bool:
    """Whether the question contains an answer as whole tokens and the question offers no choice.

    Golds that any text holds by chance (yes, no, small numbers) are no leak, and neither is any in a question so long
    that it brings along the text from which the answer is to be taken.
    """
    text = question.question
    bare = question.model_copy(update={"evidence": [], "meta": {}})
    if len(tokens(text)) > PASSAGE or not judged_by_containment(bare) or _offers_choice(question):
        return False
    observed = Observed([text])
    return any(values and all(map(observed.holds, values)) for values in map(gold_values, question.answers))


def _offers_choice(question: Question) -> bool:
    """Whether the text names candidates, by an "or", an "of ... and" or a list, or meta does."""
    text = question.question
    listed = next(filter(None, map(question.meta.get, ("options", "choices", "candidates"))), None)
    several = sum(map(text.count, SEPARATORS)) > 1
    return several or bool(isinstance(listed, list) or OR.search(text) or AND.search(text))

"""What RAGQuestEval makes of the answers: recall, precision, their combination, and what stands behind them.

After CRUD-RAG (Lyu et al. 2024). Of the questions about a reference, those count that the reference answers and to
which both sides have a reply under their id: A. Those of A that the generated text answers too are B. F is the F1 of
words between the two answers to a question.

- recall: |B| / |A|.
- precision: the mean of F over B, as the published code, figure 6 and the text have it (`answered`). Formula 2 of the
  paper divides the same sum by the number of all questions that were asked (`all`).
- combined: the mean of F over A, 0 for what the generated text does not answer; recall times precision.

Where B is empty, the text answered nothing: all are 0. Where A is empty there was nothing to answer, which is no fault
of the system: NaN, to be counted as not scored. `published` gives 0 there, as the published code does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from r_eval.analysis.metrics.published_crud import word_f1_published
from r_eval.analysis.metrics.word_f1 import word_f1
from r_eval.analysis.quest_eval.unanswerable import PUBLISHED, UNANSWERABLE

NAN = float("nan")


class Pair(NamedTuple):
    """The two answers to a question.

    Attributes:
        gold: From the reference; `UNANSWERABLE`, or None where no reply came under the question's id.
        given: From the generated text, likewise.
    """

    gold: str | None
    given: str | None


@dataclass(frozen=True, slots=True)
class QuestScore:
    """One generated text against one reference.

    Attributes:
        recall, precision, precision_all, combined: From 0 to 1; NaN where no question counts.
        n_questions: That were asked.
        n_gt_unanswerable: Of these, to which the reference has no answer.
        n_gm_unanswerable: Of those that count, to which the generated text has no answer.
        n_misaligned: To which one side has no reply under their id, and the reference is not known to have no answer.
        why: In one word, why there is no score: "unread" (no reply with questions or answers could be read),
            "unusable" (the reference answers none of the questions), "no_reference", "failed" (the LLM); "" otherwise.
    """

    recall: float = NAN
    precision: float = NAN
    precision_all: float = NAN
    combined: float = NAN
    n_questions: int = 0
    n_gt_unanswerable: int = 0
    n_gm_unanswerable: int = 0
    n_misaligned: int = 0
    why: str = ""

    @property
    def n_dropped(self) -> int:
        """Questions that are in no score."""
        return self.n_gt_unanswerable + self.n_misaligned

    @property
    def scored(self) -> bool:
        return not math.isnan(self.combined)


class Published(NamedTuple):
    """What the published code gives."""

    precision: float
    recall: float


def score(pairs: Sequence[Pair]) -> QuestScore:
    """The score of one generated text from its answers and the reference's; one pair a question.

    >>> found = score([Pair("a b c", "a x y"), Pair("Nairobi", "Nairobi"), Pair("1912", UNANSWERABLE)])
    >>> round(found.recall, 3), round(found.precision, 3), round(found.combined, 3)
    (0.667, 0.667, 0.444)
    """
    bad = sum(pair.gold == UNANSWERABLE for pair in pairs)
    misaligned = sum(pair.gold is None or (pair.gold != UNANSWERABLE and pair.given is None) for pair in pairs)
    used = [(gold, given) for gold, given in pairs if gold not in (None, UNANSWERABLE) and given is not None]
    if not used:
        why = "unread" if misaligned or not pairs else "unusable"
        return QuestScore(n_questions=len(pairs), n_gt_unanswerable=bad, n_misaligned=misaligned, why=why)
    values = [word_f1(given, [gold]) for gold, given in used if gold is not None and given != UNANSWERABLE]
    total, answered = math.fsum(values), len(values)
    return QuestScore(
        recall=answered / len(used),
        precision=total / answered if answered else 0.0,
        precision_all=total / (len(pairs) - misaligned),
        combined=total / len(used),
        n_questions=len(pairs),
        n_gt_unanswerable=bad,
        n_gm_unanswerable=len(used) - answered,
        n_misaligned=misaligned,
    )


def published(golds: Sequence[str], given: Sequence[str]) -> Published:
    """Precision and recall as the published code computes them: by place, over words with spaces and punctuation.

    Only its own phrase ("无法推断"), to the letter, stands for no answer. Where none is left, both are 0.

    Raises:
        ValueError: There are not as many answers of one side as of the other. The published code drops such a sample,
            or puts wrong answers together.
    """
    used = [(gold, answer) for gold, answer in zip(golds, given, strict=True) if gold != PUBLISHED]
    values = [word_f1_published(answer, [gold]) for gold, answer in used if answer != PUBLISHED]
    if not values:
        return Published(0.0, 0.0)
    return Published(sum(values) / len(values), 1 - (len(used) - len(values)) / len(used))

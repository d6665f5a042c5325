"""RAGQuestEval (CRUD-RAG, Lyu et al. 2024): does a generated text hold what the reference says, and say it rightly?

An LLM writes questions about the reference, answers them from the reference, and answers them from the generated text.
Of the n questions to which both sides have a reply, A are those that the reference answers, and B those of A that the
text answers too. F is the F1 of words between the two answers to a question.

- `quest_eval_recall@LLM`: |B| / n, formula 1 of the paper; `#answered` divides by |A| instead, as the published code
  does.
- `quest_eval_precision@LLM`: the mean of F over B, as the published code, figure 6 and the paper's text have it; `#all`
  divides the same sum by n, which is formula 2. (`#all` and `#answered` may be named for either.)
- `quest_eval@LLM`: the mean of F over A, 0 for what the text does not answer.

Where B is empty all are 0. Where A is empty there was nothing to answer, which is no fault of the system: NaN, counted
as not scored, as where the LLM failed or its replies cannot be read. Of several golds the one with the best
`quest_eval` counts.

A reference is asked about once for all texts, and every reply is in the cache of replies; how the LLM is asked and read
is in `quest_replies`.
"""

from __future__ import annotations

import asyncio
import functools
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from r_eval.analysis.metrics.judge import ask, ask_llm, prompt_file
from r_eval.analysis.metrics.published import word_f1_published
from r_eval.analysis.metrics.qa import word_f1
from r_eval.analysis.metrics.quest_replies import (
    UNANSWERABLE,
    Sheet,
    answers_prompt,
    questions_prompt,
    read_answers,
    read_published,
    read_questions,
)
from r_eval.analysis.metrics.registry import Batched
from r_eval.errors import UserError
from r_eval.languages import Language, language_of

if TYPE_CHECKING:
    from r_eval.tasks.llm_client import LLMClient

__all__ = [
    "PUBLISHED",
    "UNANSWERABLE",
    "Evaluated",
    "Evaluator",
    "Pair",
    "Precision",
    "QuestCase",
    "QuestEval",
    "QuestScore",
    "Recall",
    "Sheet",
    "evaluate",
    "published",
    "read_published",
    "score",
]

PUBLISHED = "无法推断"
"""The one phrase that stands for no answer in the published code."""

_MOST_SCORES = 4_096
_NO_SCORE = {
    "unread": "no reply could be read",
    "unusable": "the reference answers no question",
    "no_reference": "there is no reference",
    "failed": "the LLM failed: ",
}
Say = Callable[[str], Awaitable[str]]
"""Sends a prompt to an LLM and returns its reply; raises UserError where the LLM fails."""


class Pair(NamedTuple):
    """The two answers to a question.

    Attributes:
        gold: From the reference; `UNANSWERABLE`, or None where no reply came under the question's id.
        given: From the generated text, likewise.
    """

    gold: str | None
    given: str | None


class QuestCase(NamedTuple):
    """A generated text and its reference; `sheet` has the questions where they are known, as from a published cache."""

    answer: str
    reference: str
    sheet: Sheet | None = None


@dataclass(frozen=True, slots=True)
class QuestScore:
    """One generated text against one reference.

    Attributes:
        recall, recall_all, precision, precision_all, combined: From 0 to 1; NaN where no question counts. Those of
            "all" divide by all questions that have replies.
        n_questions: That were asked.
        n_gt_unanswerable: Of these, to which the reference has no answer.
        n_gm_unanswerable: Of those that count, to which the generated text has no answer.
        n_misaligned: To which one side has no reply under their id, and the reference is not known to have no answer.
        why: In one word, why there is no score: a key of `_NO_SCORE`; "" otherwise.
    """

    recall: float = math.nan
    recall_all: float = math.nan
    precision: float = math.nan
    precision_all: float = math.nan
    combined: float = math.nan
    n_questions: int = 0
    n_gt_unanswerable: int = 0
    n_gm_unanswerable: int = 0
    n_misaligned: int = 0
    why: str = ""

    @property
    def n_dropped(self) -> int:
        """Questions that are in no score but those of "all"."""
        return self.n_gt_unanswerable + self.n_misaligned

    @property
    def scored(self) -> bool:
        return not math.isnan(self.combined)


@dataclass(slots=True)
class Evaluated:
    """The scores of some rows, in their order; `error` is what the LLM said where it failed last."""

    scores: list[QuestScore] = field(default_factory=list)
    error: str = ""

    def counts(self) -> dict[str, int]:
        """What stands behind the scores: texts, questions, and those of both that count nowhere, by cause."""
        why = Counter(found.why for found in self.scores)
        numbers = ("n_questions", "n_gt_unanswerable", "n_gm_unanswerable", "n_misaligned", "n_dropped")
        return {
            "texts": len(self.scores),
            "scored": sum(found.scored for found in self.scores),
            **{word: why[word] for word in _NO_SCORE},
            **{name: sum(getattr(found, name) for found in self.scores) for name in numbers},
        }


class QuestEval(Batched):
    """The mean F1 of the answers to what the reference answers, 0 for those that the answer does not hold."""

    name = "quest_eval"
    parts: Mapping[str, str] = {"": "combined"}
    """By what stands behind "#", the field of `QuestScore`."""

    def __init__(self, setup: str | None = None) -> None:
        """Keep the LLM's name; it is opened when answers are scored.

        Raises:
            UserError: The denominator is unknown.
        """
        self._llm, _, denominator = (setup or "").partition("#")
        if denominator not in self.parts:
            raise UserError(f"{self.name}: unknown denominator {denominator!r}; expected #answered or #all")
        self._part = self.parts[denominator]
        self._counts = Counter[str]()
        self._error = ""

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers; not to be called where an event loop runs.

        Raises:
            UserError: No LLM is named, or it cannot be used.
        """
        if not self._llm:
            raise UserError(f"{self.name} needs an LLM: name it {self.name}@LLM, as in {self.name}@openai/gpt-4o")
        rows = [QuestCase(text, gold) for text, right in zip(predictions, golds, strict=True) for gold in right or [""]]
        found = evaluate(self._llm, rows)
        scores = iter(found.scores)
        best = [_best([next(scores) for _ in right or [""]]) for right in golds]
        self._counts.update(Evaluated(best).counts())
        self._error = found.error or self._error
        return [float(getattr(one, self._part)) for one in best]

    def summary(self) -> str:
        """What stands behind the scores since it was last called, for a person; "" where there are none."""
        of, self._counts = self._counts, Counter()
        if not of["texts"]:
            return ""
        line = (
            f"quest_eval@{self._llm}: {of['scored']:,} of {of['texts']:,} answers scored, on {of['n_questions']:,} "
            f"questions: {of['n_gt_unanswerable']:,} that the reference does not answer, {of['n_gm_unanswerable']:,} "
            f"that the answer does not, {of['n_misaligned']:,} without a reply under their id"
        )
        reasons = {**_NO_SCORE, "failed": f"the LLM failed: {self._error}"}
        return line + "".join(f"; {of[word]:,} not scored: {reason}" for word, reason in reasons.items() if of[word])


class Recall(QuestEval):
    """The share of the questions that the answer answers too, rightly or not."""

    name = "quest_eval_recall"
    parts = {"": "recall_all", "all": "recall_all", "answered": "recall"}


class Precision(QuestEval):
    """The mean F1 of the answers to what both the reference and the answer answer."""

    name = "quest_eval_precision"
    parts = {"": "precision", "all": "precision_all", "answered": "precision"}


def _best(scores: Sequence[QuestScore]) -> QuestScore:
    """The best of several golds; none where the LLM failed on one of them."""
    failed = next((one for one in scores if one.why == "failed"), None)
    return failed or max(scores, key=lambda one: one.combined if one.scored else -1.0)


def score(pairs: Sequence[Pair]) -> QuestScore:
    """The score of one generated text from its answers and the reference's; one pair per question.

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
    total, answered, every = math.fsum(values), len(values), len(pairs) - misaligned
    return QuestScore(
        recall=answered / len(used),
        recall_all=answered / every,
        precision=total / answered if answered else 0.0,
        precision_all=total / every,
        combined=total / len(used),
        n_questions=len(pairs),
        n_gt_unanswerable=bad,
        n_gm_unanswerable=len(used) - answered,
        n_misaligned=misaligned,
    )


def published(golds: Sequence[str], given: Sequence[str]) -> tuple[float, float]:
    """Precision and recall as the published code computes them: by place, over words with spaces and punctuation.

    Only its own phrase (`PUBLISHED`), to the letter, stands for no answer. Where none is left, both are 0.

    Raises:
        ValueError: There are not as many answers of one side as of the other. The published code drops such a sample,
            or puts wrong answers together.
    """
    used = [(gold, answer) for gold, answer in zip(golds, given, strict=True) if gold != PUBLISHED]
    values = [word_f1_published(answer, [gold]) for gold, answer in used if answer != PUBLISHED]
    return (sum(values) / len(values), len(values) / len(used)) if values else (0.0, 0.0)


def evaluate(llm: str, rows: Sequence[QuestCase]) -> Evaluated:
    """The score of every row by the questions and answers of an LLM; as `judge.ask_llm`.

    A row on which the LLM failed has no score, and is counted.

    Raises:
        UserError: The LLM is unknown, or it cannot be used.
    """
    known = _scores_of(llm)
    missing = [row for row in dict.fromkeys(rows) if row not in known]
    error = ""
    if missing:

        async def evaluate_all(speaker: LLMClient) -> str:
            evaluator = Evaluator(speaker.complete)
            found = await asyncio.gather(*map(evaluator.row, missing))
            known.update(zip(missing, found, strict=True))
            return evaluator.error

        error = ask_llm(llm, "quest_eval", evaluate_all)
    evaluated = Evaluated([known[row] for row in rows], error)
    for row in [row for row in known if known[row].why == "failed" or len(known) > _MOST_SCORES]:
        del known[row]
    return evaluated


@functools.cache
def _scores_of(llm: str) -> dict[QuestCase, QuestScore]:
    """The scores by an LLM in this process, which the metrics share."""
    return {}


class Evaluator:
    """An LLM's questions and answers, for as long as an event loop runs; `error` is what it said where it failed
    last."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._sheets: dict[str, asyncio.Task[Sheet]] = {}
        self.error = ""

    async def row(self, row: QuestCase) -> QuestScore:
        """The score of one row; one without a score where the LLM failed."""
        if not row.reference.strip() and row.sheet is None:
            return QuestScore(why="no_reference")
        try:
            sheet = row.sheet or await self.sheet(row.reference)
            if not row.answer.strip() or not sheet.usable:
                given: Sequence[str | None] = [UNANSWERABLE] * len(sheet.questions)
            else:
                given = await self.answers(
                    row.answer, sheet.questions, language_of(row.reference or sheet.questions[0])
                )
        except UserError as error:
            self.error = str(error)
            return QuestScore(why="failed")
        return score(list(map(Pair, sheet.answers, given)))

    async def sheet(self, reference: str) -> Sheet:
        """The questions about a reference and its own answers; without any where none could be read.

        Raises:
            UserError: The LLM failed.
        """
        if reference not in self._sheets:
            self._sheets[reference] = asyncio.create_task(self._write(reference))
        return await self._sheets[reference]

    async def answers(self, text: str, questions: Sequence[str], language: Language) -> list[str | None]:
        """A text's answer to each question; those that a first reply lacks are taken from a second.

        Raises:
            UserError: The LLM failed.
        """
        prompt, again = answers_prompt(text, questions, language), prompt_file(f"quest_again.{language}.md")
        found = read_answers(await self._say(prompt), questions)
        if None in found:
            more = read_answers(await self._say(f"{prompt}\n\n{again}"), questions)
            found = [one if one is not None else other for one, other in zip(found, more, strict=True)]
        return found

    async def _write(self, reference: str) -> Sheet:
        language = language_of(reference)
        again = prompt_file(f"quest_again.{language}.md")
        sheet = await ask(self._say, questions_prompt(reference), again, read_questions)
        if sheet is None:
            return Sheet((), ())
        answers = await self.answers(reference, sheet.questions, language)
        return Sheet(sheet.questions, tuple(answers))

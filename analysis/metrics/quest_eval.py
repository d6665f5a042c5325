"""RAGQuestEval (CRUD-RAG, Lyu et al. 2024): does a generated text hold what the reference says, and say it rightly?

An LLM writes questions about the reference, answers them from the reference, and answers them from the generated text.
Of the n questions to which both sides have a reply, A are those that the reference answers, and B those of A that the
text answers too. F is the F1 of words between the two answers to a question.

- `quest_eval_recall@LLM`: |B| / n, formula 1 of the paper; `#answered` divides by |A| instead, as the published code
  does.
- `quest_eval_precision@LLM`: the mean of F over B, as the published code, figure 6 and the paper's text have it; `#all`
  divides the same sum by n, which is formula 2. (`#all` and `#answered` may be named for either.)
- `quest_eval@LLM`: the mean of F over A, 0 for what the text does not answer.

Where B is empty all are 0. Where A is empty there was nothing to answer, which is no fault of the system: NaN, as where
the LLM failed or its replies cannot be read. Of several golds the one with the best `quest_eval` counts.

The prompts are in `prompts/quest_*.md`, in English and Chinese. Each question has an id, and an answer belongs to the
question with its id (the published code goes by place, so that one answer too few moves all that follow). An
answer that says that there is none ("not mentioned.", "无法推断") counts as `UNANSWERABLE`, but only as a whole:
"political uncertainty" is an answer.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from string import Template
from typing import Any, NamedTuple

from r_eval.analysis.metrics.judge import Case, Complete, LLMMetric, ask, prompt_data, prompt_file
from r_eval.analysis.metrics.qa import word_f1
from r_eval.errors import UserError
from r_eval.languages import Language, language_of

UNANSWERABLE = "<Unanswerable>"
Sheet = tuple[list[str], list[str | None]]
"""The questions about a reference, and its own answer to each."""
_LONGEST_PHRASE = 80
"""Characters beyond which an answer says something."""
_ID = re.compile(r"\D{0,12}0{0,3}([1-9]\d{0,4})\W{0,2}")


class Pair(NamedTuple):
    """The two answers to a question.

    Attributes:
        gold: From the reference; `UNANSWERABLE`, or None where no reply came under the question's id.
        answer: From the generated text, likewise.
    """

    gold: str | None
    answer: str | None


class QuestScore(NamedTuple):
    """One generated text against one reference, from 0 to 1; NaN where no question counts.

    Those of "all" divide by all questions that have replies.
    """

    recall: float = math.nan
    recall_all: float = math.nan
    precision: float = math.nan
    precision_all: float = math.nan
    combined: float = math.nan


def score(pairs: Sequence[Pair]) -> QuestScore:
    """The score of one generated text from its answers and the reference's; one pair per question.

    >>> found = score([Pair("a b c", "a x y"), Pair("Nairobi", "Nairobi"), Pair("1912", UNANSWERABLE)])
    >>> round(found.recall, 3), round(found.precision, 3), round(found.combined, 3)
    (0.667, 0.667, 0.444)
    """
    used = [(gold, answer) for gold, answer in pairs if gold not in (None, UNANSWERABLE) and answer is not None]
    if not used:
        return QuestScore()
    values = [word_f1(answer, [gold]) for gold, answer in used if gold is not None and answer != UNANSWERABLE]
    total, answered, n_used = math.fsum(values), len(values), len(used)
    every = n_used + sum(gold == UNANSWERABLE for gold, _ in pairs)
    precision = total / answered if answered else 0.0
    return QuestScore(answered / n_used, answered / every, precision, total / every, total / n_used)


class QuestEval(LLMMetric):
    """The mean F1 of the answers to what the reference answers, 0 for those that the answer does not hold."""

    name = "quest_eval"
    parts: Mapping[str, str] = {"": "combined"}
    """By what follows "#", the field of `QuestScore`."""

    def __init__(self, setup: str | None = None) -> None:
        """As of `LLMMetric`.

        Raises:
            UserError: The denominator is unknown.
        """
        super().__init__(setup)
        if self.part not in self.parts:
            raise UserError(f"{self.name}: unknown denominator {self.part!r}; expected #answered or #all")
        self._references: dict[str, asyncio.Task[Sheet]] = {}

    async def score(self, complete: Complete, case: Case) -> float:
        found = [await self._against(complete, case.answer, gold) for gold in case.golds if gold.strip()]
        best = max(found, key=lambda one: -1.0 if math.isnan(one.combined) else one.combined, default=QuestScore())
        self.tally["not scored: there is no reference"] += not found
        self.tally["not scored: no question to answer could be read"] += bool(found) and math.isnan(best.combined)
        return float(getattr(best, self.parts[self.part]))

    async def _against(self, complete: Complete, answer: str, reference: str) -> QuestScore:
        task = self._references.get(reference)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            task = self._references[reference] = asyncio.create_task(_sheet(complete, reference))
        questions, golds = await task
        answers: Sequence[str | None] = [UNANSWERABLE] * len(questions)
        if answer.strip() and any(gold not in (None, UNANSWERABLE) for gold in golds):
            answers = await _answers(complete, answer, questions, language_of(reference))
        return score(list(map(Pair, golds, answers)))


class Recall(QuestEval):
    """The share of the questions that the answer answers too, rightly or not."""

    name = "quest_eval_recall"
    parts = {"": "recall_all", "all": "recall_all", "answered": "recall"}


class Precision(QuestEval):
    """The mean F1 of the answers to what both the reference and the answer answer."""

    name = "quest_eval_precision"
    parts = {"": "precision", "all": "precision_all", "answered": "precision"}


async def _sheet(complete: Complete, reference: str) -> Sheet:
    language = language_of(reference)
    prompt = Template(prompt_file(f"quest_questions.{language}.md")).substitute(text=reference)
    questions = await ask(complete, prompt, prompt_file(f"quest_again.{language}.md"), read_questions) or []
    return questions, await _answers(complete, reference, questions, language) if questions else []


async def _answers(complete: Complete, text: str, questions: Sequence[str], language: Language) -> list[str | None]:
    """A text's answer to each question; those that a first reply lacks are taken from a second."""
    lines = "\n".join(f"q{number}: {question}" for number, question in enumerate(questions, 1))
    prompt = Template(prompt_file(f"quest_answers.{language}.md")).substitute(text=text, questions=lines)
    again = prompt_file(f"quest_again.{language}.md")
    found = read_answers(await complete(prompt), questions)
    if None in found:
        more = read_answers(await complete(f"{prompt}\n\n{again}"), questions)
        found = [other if one is None else one for one, other in zip(found, more, strict=True)]
    return found


def read_questions(reply: str) -> list[str] | None:
    """The questions in a reply, each once; None where there are none.

    >>> read_questions('Sure:\\n```json\\n{"key_info": ["Kenya"], "questions": ["Where?", "When?"]}\\n```')
    ['Where?', 'When?']
    """
    from r_eval.llms.json_text import json_values

    found: list[str] = []
    for value in (one.value for one in json_values(reply)):
        items = value.get("questions", value.get("question")) if isinstance(value, dict) else None
        texts = items if isinstance(items, list) else []
        found = [" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()] or found
    return list(dict.fromkeys(found)) or None


def read_answers(reply: str, questions: Sequence[str]) -> list[str | None]:
    """The answer to each question, `UNANSWERABLE` for what says so; None for a question whose id is not in the reply.

    Where an id comes twice, the last counts: a model may begin again.

    >>> read_answers('{"q2": "In Africa.", "q1": null}', ["Where is Oz?", "Where is Kenya?"])
    ['<Unanswerable>', 'In Africa.']
    """
    from r_eval.llms.json_text import json_values

    found: dict[int, str] = {}
    for key, answer in (pair for one in json_values(reply) for pair in _by_id(one.value)):
        if match := _ID.fullmatch(str(key)[:40]):
            found[int(match[1])] = normalised(_text(answer))
    return [found.get(number) for number in range(1, len(questions) + 1)]


def _by_id(value: Any) -> Iterator[tuple[object, Any]]:
    """Ids and answers in an object of answers, in a list of objects with both, or in either within "answers"."""
    if isinstance(value, list):
        for item in value:
            yield from _by_id(item)
    elif isinstance(value, dict) and "id" in value:
        yield value["id"], value.get("answer")
    elif isinstance(value, dict):
        yield from _by_id(value.get("answers"))
        yield from value.items()


def _text(answer: object) -> str:
    if isinstance(answer, list):
        return ", ".join(filter(None, map(_text, answer)))
    return "" if answer is None else str(answer)


def normalised(answer: str) -> str:
    """`UNANSWERABLE` for whatever says so as a whole, any other answer without the space around it.

    >>> normalised("The text does not mention it."), normalised("文中未提及。"), normalised(" uncertainty ")
    ('<Unanswerable>', '<Unanswerable>', 'uncertainty')
    """
    answer = answer.strip()
    says_nothing = not answer or (len(answer) <= _LONGEST_PHRASE and _letters(answer) in _phrases())
    return UNANSWERABLE if says_nothing else answer


@functools.cache
def _phrases() -> frozenset[str]:
    parts = prompt_data("unanswerable.yaml").values()
    products = (itertools.product(["", *one["leads"]], one["cores"], ["", *one["tails"]]) for one in parts)
    return frozenset(_letters("".join(words)) for words in itertools.chain.from_iterable(products))


def _letters(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())

"""Six criteria by which an LLM grades an answer, as DRAGON has them: three by what was found, three by the gold.

| criterion | DRAGON's words | the judge sees, with the question |
| --- | --- | --- |
| `conciseness` | absence of unnecessary details | what the searches found |
| `consistency` | consistency with facts | what the searches found |
| `soundness` | correctness of results | what the searches found |
| `completeness` | completeness | the gold answers |
| `accuracy` | factual accuracy | the gold answers |
| `main_idea` | preserving main idea and details | the gold answers |

`judge_six@LLM` is the mean of the six, each halved from 0, 1, 2 to 0..1; `judge_six@LLM#accuracy` is one of them. Asked
for together they need no more calls than the mean alone. It calls an LLM, so it runs only when it is asked for by name.
The prompts are in English, Chinese or Russian, as the question is. DRAGON shows the text that the question was made
from for the second and third; an episode does not hold it, so they are judged by what was found.

A verdict that cannot be read is asked for once more, counts 0 after that, and is counted in `told`. An empty answer is
worth 0 unasked. NaN only where the LLM failed.
"""

from __future__ import annotations

import asyncio
import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING, Any

from r_eval.analysis.metrics.judge import LONGEST, TOP, grade_by, prompt_file
from r_eval.analysis.metrics.registry import Seeing
from r_eval.errors import UserError
from r_eval.languages import Recognised, recognised

if TYPE_CHECKING:
    from r_eval.tasks.speaking import Speaker

CRITERIA = ("conciseness", "consistency", "soundness", "completeness", "accuracy", "main_idea")
LANGUAGES: tuple[Recognised, ...] = ("en", "zh", "ru")


@dataclass(frozen=True, slots=True)
class Case:
    """An answer and what it is judged by."""

    answer: str
    golds: tuple[str, ...]
    question: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one criterion gave.

    Attributes:
        grade: 0, 1 or 2; 0 where it could not be read.
        unread: Whether it could not.
    """

    grade: int
    unread: bool = False


class JudgeSix(Seeing):
    """The mean of the six grades, or one of them; needs the LLM's name, as in judge_six@openai/gpt-4o#accuracy."""

    def __init__(self, given: str | None = None) -> None:
        self._llm, _, part = (given or "").partition("#")
        if part and part not in CRITERIA:
            raise UserError(f"judge_six: no criterion is called {part!r}; there are {', '.join(CRITERIA)}")
        self._criteria = (part,) if part else CRITERIA
        self._answers = self._failed = 0
        self._sums: Counter[str] = Counter()
        self._unread: Counter[str] = Counter()
        self._error = ""

    def seeing(
        self,
        predictions: Sequence[str],
        golds: Sequence[Sequence[str]],
        questions: Sequence[str] | None,
        contexts: Sequence[str] | None,
    ) -> list[float]:
        """The scores of many answers; not to be called where an event loop runs.

        Raises:
            UserError: No LLM is named, or it cannot be used.
        """
        if not self._llm:
            raise UserError("judge_six needs an LLM: name it judge_six@LLM, as in judge_six@openai/gpt-4o")
        none = [""] * len(predictions)
        rows = zip(predictions, map(tuple, golds), questions or none, contexts or none, strict=True)
        return [self._counted(found) for found in asyncio.run(self._judged([Case(*row) for row in rows]))]

    async def _judged(self, cases: Sequence[Case]) -> list[dict[str, Verdict] | UserError]:
        from r_eval.tasks.speaking import Speaker, replies_kept

        with replies_kept("judge") as memory:
            async with Speaker(self._llm, memory) as speaker:
                return await asyncio.gather(*(verdicts(speaker, case, self._criteria) for case in cases))

    def _counted(self, found: dict[str, Verdict] | UserError) -> float:
        self._answers += 1
        if isinstance(found, UserError):
            self._failed += 1
            self._error = str(found)
            return math.nan
        self._sums.update({name: verdict.grade for name, verdict in found.items()})
        self._unread.update(name for name, verdict in found.items() if verdict.unread)
        return sum(verdict.grade for verdict in found.values()) / (TOP * len(found))

    def told(self) -> str:
        """The mean by criterion, and what could not be read, since it was last asked; "" where nothing was judged."""
        if not self._answers:
            return ""
        graded = self._answers - self._failed
        line = f"judge_six@{self._llm}: {graded:,} of {self._answers:,} answers graded"
        if graded:
            line += ": " + ", ".join(f"{name} {self._sums[name] / TOP / graded:.2f}" for name in self._criteria)
        if unread := self._unread.total():
            where = ", ".join(f"{name} {self._unread[name]:,}" for name in self._criteria if self._unread[name])
            line += f"; {unread:,} verdicts could not be read and count 0 ({where})"
        if self._failed:
            line += f"; {self._failed:,} not graded since the LLM failed: {self._error}"
        self._answers = self._failed = 0
        self._sums, self._unread, self._error = Counter(), Counter(), ""
        return line


async def verdicts(speaker: Speaker, case: Case, criteria: Sequence[str] = CRITERIA) -> dict[str, Verdict] | UserError:
    """By criterion, what the judge says of an answer; the error where the LLM failed on one of them."""
    if not case.answer.strip():
        return dict.fromkeys(criteria, Verdict(0))
    try:
        found = await asyncio.gather(*(_verdict(speaker, case, one) for one in criteria))
    except UserError as error:
        return error
    return dict(zip(criteria, found, strict=True))


async def _verdict(speaker: Speaker, case: Case, criterion: str) -> Verdict:
    again = prompt_file(_named("again", language_of(case)))
    grade = await grade_by(speaker, asked(case, criterion), again)
    return Verdict(0, unread=True) if grade is None else Verdict(grade)


def asked(case: Case, criterion: str) -> str:
    """What the judge is told; nothing that is filled in is read for $names again."""
    language = language_of(case)
    of, labels = six(language)[criterion], six(language)["labels"]
    golds = "\n".join(f"- {gold[:LONGEST]}" for gold in case.golds)
    by = {"context": case.context[:LONGEST], "golds": golds}[of["shows"]]
    shown = [
        *([f"{labels['question']}: {case.question[:LONGEST]}"] if case.question else []),
        *([f"{labels[of['shows']]}:\n{by}"] if by.strip() else []),
        f"{labels['answer']}: {case.answer[:LONGEST]}",
    ]
    grades = {name: of[name] for name in ("asks", "two", "one", "zero")}
    return Template(prompt_file(_named("judge", language))).substitute(shown="\n".join(shown), **grades)


def language_of(case: Case) -> Recognised:
    """The language of the question, or of the gold where there is none."""
    return recognised(case.question or " ".join(case.golds))


@functools.cache
def six(language: Recognised) -> Mapping[str, Mapping[str, Any]]:
    """The criteria in a language, by name, and under "labels" what is written before each part."""
    import yaml

    found: dict[str, dict[str, Any]] = yaml.safe_load(prompt_file(f"six.{language}.yaml"))
    return found


def _named(prompt: str, language: Recognised) -> str:
    return f"{prompt}.md" if language == "en" else f"{prompt}.{language}.md"

"""LLM judges: one driver for every metric that asks an LLM, and rubrics as data.

The LLM is a name as in a grid, or a YAML file that has it as `llm` with its settings; it is asked through the cache of
replies, and once more where a reply cannot be read.

- `judge@LLM`, `judge@LLM#RUBRIC`: a grade of 0, 1 or 2 by a rubric of `prompts/criteria.yaml`, or of a YAML file with
  one of that form; halved to 0, 0.5 or 1. NaN where two replies hold no grade.
- `judge_six@LLM`: the mean of DRAGON's six criteria; `judge_six@LLM#accuracy` is one of them. Conciseness, consistency
  and soundness are judged by what the searches found (DRAGON shows the text that the question was made from, which an
  episode does not hold); completeness, accuracy and main_idea by the golds. Prompts are in English, Chinese or
  Russian, as the question is. A grade that cannot be read counts 0, and is counted.

An empty answer is worth 0 unasked. NaN where the LLM failed. A judge is an opinion: compare its grades with those of
people (scikit-learn's `cohen_kappa_score` with quadratic weights) before its figures are used.
"""

from __future__ import annotations

import asyncio
import functools
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple, TypeVar

from r_eval.analysis.metrics.registry import Batched
from r_eval.errors import UserError
from r_eval.event_loops import in_event_loop
from r_eval.languages import Recognised, recognised

T = TypeVar("T")
Complete = Callable[[str], Awaitable[str]]
"""Sends a prompt to an LLM and returns its reply; raises UserError where the LLM fails."""
Rubric = Mapping[str, Any]
"""What is graded (`asks`), what each grade means (`two`, `one`, `zero`), and what the judge sees (`shows`)."""

LONGEST = 12_000
"""Characters of an answer, question, gold or context that the judge sees."""
TOP = 2
"""The best grade."""
SIX = ("conciseness", "consistency", "soundness", "completeness", "accuracy", "main_idea")
SHOWS = ("question", "context", "golds")
GRADES = ("asks", "two", "one", "zero")


class Case(NamedTuple):
    """An answer and what it is judged by."""

    answer: str
    golds: tuple[str, ...]
    question: str = ""
    context: str = ""


class LLMMetric(Batched):
    """A metric that asks an LLM, whose name follows "@"; what follows "#" chooses a `part` of it.

    A subclass scores one case. What it counts in `tally`, under the words for a person, is in the summary.
    """

    name = ""

    def __init__(self, setup: str | None = None) -> None:
        """Keep the LLM's name; it is opened when answers are scored."""
        self._llm, _, self.part = (setup or "").partition("#")
        self.tally = Counter[str]()

    async def score(self, complete: Complete, case: Case) -> float:
        """The score of one answer; NaN where the replies leave it open.

        Raises:
            UserError: The LLM failed.
        """
        raise NotImplementedError

    def batch(
        self,
        predictions: Sequence[str],
        golds: Sequence[Sequence[str]],
        questions: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
    ) -> list[float]:
        """The scores of many answers; not to be called where an event loop runs.

        Raises:
            UserError: No LLM is named, or it cannot be used.
        """
        if not self._llm:
            raise UserError(f"{self.name} needs an LLM: name it {self.name}@LLM, as in {self.name}@openai/gpt-4o")
        none = [""] * len(predictions)
        rows = zip(predictions, map(tuple, golds), questions or none, contexts or none, strict=True)
        return in_event_loop(self._score_all([Case(*row) for row in rows]))

    async def _score_all(self, cases: Sequence[Case]) -> list[float]:
        from r_eval.tasks.llm_client import LLMClient, reply_cache

        name, settings = _llm_settings(self._llm)
        with reply_cache(self.name) as replies:
            async with LLMClient(name, replies, settings) as client:
                return await asyncio.gather(*(self._score_or_none(client.complete, case) for case in cases))

    async def _score_or_none(self, complete: Complete, case: Case) -> float:
        self.tally["answers"] += 1
        try:
            score = await self.score(complete, case)
        except UserError as error:
            self.tally[f"not scored: {error}"] += 1
            return math.nan
        self.tally["scored"] += not math.isnan(score)
        return score

    def summary(self) -> str:
        tally, self.tally = self.tally, Counter()
        answers, scored = tally.pop("answers", 0), tally.pop("scored", 0)
        counts = [f"{count:,} {what}" for what, count in tally.items() if count]
        line = f"{self.name}@{self._llm}: {scored:,} of {answers:,} answers scored"
        return "; ".join([line, *counts]) if answers else ""


async def ask(complete: Complete, prompt: str, again: str, parse: Callable[[str], T | None]) -> T | None:
    """What a reply says, asked once more where it cannot be parsed; None where the second one cannot."""
    for text in (prompt, f"{prompt}\n\n{again}"):
        found = parse(await complete(text))
        if found is not None:
            return found
    return None


class Judge(LLMMetric):
    """An LLM's grade of the answer (0, 0.5 or 1); needs the LLM's name, as in judge@openai/gpt-4o."""

    name = "judge"
    unread = math.nan
    """What a grade that cannot be read counts."""

    def __init__(self, setup: str | None = None) -> None:
        """As of `LLMMetric`.

        Raises:
            UserError: The rubric is unknown.
        """
        super().__init__(setup)
        self.rubrics("en")

    def rubrics(self, language: Recognised) -> dict[str, Rubric]:
        """What is graded, by its name, in a language if the rubrics are there in it."""
        name = self.part or "correctness"
        return {name: rubric(name)}

    def language(self, case: Case) -> Recognised:
        """The language of the prompts."""
        return "en"

    async def score(self, complete: Complete, case: Case) -> float:
        if not case.answer.strip():
            return 0.0
        language = self.language(case)
        rubrics = self.rubrics(language)
        again = prompt_file(_in_language("again", language))
        prompts = [prompt(case, one, language) for one in rubrics.values()]
        grades = await asyncio.gather(*(ask(complete, text, again, read_grade) for text in prompts))
        for name, grade in zip(rubrics, grades, strict=True):
            self.tally[f"without a grade that could be read ({name})"] += grade is None
        return math.fsum(self.unread if grade is None else grade for grade in grades) / (TOP * len(grades))


class JudgeSix(Judge):
    """The mean of six grades, or one of them; needs the LLM's name, as in judge_six@openai/gpt-4o#accuracy."""

    name = "judge_six"
    needs_context = True
    unread = 0.0

    def rubrics(self, language: Recognised) -> dict[str, Rubric]:
        if self.part and self.part not in SIX:
            raise UserError(f"judge_six: no criterion is called {self.part!r}; there are {', '.join(SIX)}")
        known = prompt_data(f"six.{language}.yaml")
        return {name: known[name] for name in ([self.part] if self.part else SIX)}

    def language(self, case: Case) -> Recognised:
        return recognised(case.question or " ".join(case.golds))


def prompt(case: Case, rubric: Rubric, language: Recognised = "en") -> str:
    """What the judge is asked; nothing that is filled in is read for $names again."""
    labels = prompt_data(f"six.{language}.yaml")["labels"]
    golds = "\n".join(f"- {gold[:LONGEST]}" for gold in case.golds)
    parts = {
        "question": case.question and f"{labels['question']}: {case.question[:LONGEST]}",
        "context": case.context.strip() and f"{labels['context']}:\n{case.context[:LONGEST]}",
        "golds": golds and f"{labels['golds']}:\n{golds}",
    }
    lines = [text for name, text in parts.items() if name in rubric.get("shows", ("question", "golds")) and text]
    shown = "\n".join([*lines, f"{labels['answer']}: {case.answer[:LONGEST]}"])
    grades = {name: rubric[name] for name in GRADES}
    return Template(prompt_file(_in_language("judge", language))).substitute(shown=shown, **grades)


def read_grade(reply: str) -> int | None:
    """The grade in a judge's reply; None where there is none, or more than one.

    >>> [read_grade(text) for text in ('{"score": 2}', "Score: 1/2", "It is a **0**.", "1 or 2", "3")]
    [2, 1, 0, None, None]
    """
    from r_eval.tasks.graphs.judge import grade_in

    return grade_in(reply[-LONGEST:])


def rubric(name: str) -> Rubric:
    """A rubric by name, or the one in a YAML file.

    Raises:
        UserError: There is none of that name, or the file is not of the form.
    """
    if not name.endswith((".yaml", ".yml")):
        known = prompt_data("criteria.yaml")
        if name not in known:
            raise UserError(f"judge: no criterion is called {name!r}; there are {', '.join(sorted(known))}")
        return known[name]  # type: ignore[no-any-return]
    found = _read_yaml(name, "asks")
    is_text = all(isinstance(found.get(key), str) for key in GRADES)
    if not is_text or not set(found) <= {*GRADES, "shows"} or not set(found.get("shows") or ()) <= set(SHOWS):
        raise UserError(
            f"judge: {name}: expected the texts {', '.join(GRADES)}, and perhaps a list `shows` of {', '.join(SHOWS)}"
        )
    return found


def _llm_settings(llm: str) -> tuple[str, dict[str, Any]]:
    """An LLM's name and settings."""
    if not llm.endswith((".yaml", ".yml")):
        return llm, {}
    entry = _read_yaml(llm, "llm")
    return entry.pop("llm"), entry


def _read_yaml(path: str, key: str) -> dict[str, Any]:
    """A mapping in a file that has a text under a key."""
    import yaml

    from r_eval.files import read_yaml

    try:
        found = read_yaml(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get(key), str):
        raise UserError(f"{path}: expected a mapping with the text {key!r}")
    return found


def _in_language(name: str, language: Recognised) -> str:
    return f"{name}.md" if language == "en" else f"{name}.{language}.md"


@functools.cache
def prompt_file(name: str) -> str:
    """The text of a file among the prompts."""
    return files("r_eval.analysis.metrics").joinpath("prompts", name).read_text(encoding="utf-8").strip()


@functools.cache
def prompt_data(name: str) -> Any:
    """What a YAML file among the prompts holds."""
    import yaml

    return yaml.safe_load(prompt_file(name))

"""LLM judges: one driver, and rubrics as data.

`ask_llm` opens an LLM, asks it through the cache of replies, and asks once more where a reply cannot be read. Metrics
that call an LLM run only when they are asked for by name. The LLM is a name as in a grid, or a YAML file that has it
as `llm` with its settings.

- `judge@LLM`, `judge@LLM#RUBRIC`: a grade of 0, 1 or 2 by a rubric of `prompts/criteria.yaml`, or of a YAML file of
  that form with one; halved to 0, 0.5 or 1. NaN where two replies hold no grade.
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
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from r_eval.analysis.metrics.registry import Batched
from r_eval.errors import UserError
from r_eval.languages import Recognised, recognised

if TYPE_CHECKING:
    from r_eval.tasks.llm_client import LLMClient

T = TypeVar("T")

LONGEST = 12_000
"""Characters of an answer, question, gold or context that the judge sees."""
TOP = 2
"""The best grade."""
SIX = ("conciseness", "consistency", "soundness", "completeness", "accuracy", "main_idea")
SHOWS = ("question", "golds", "context")
_TEXTS = ("asks", "two", "one", "zero")

_LABELLED = re.compile(
    r"(?:grade|rating|verdict|result|mark|points?|分|оценка|балл(?:а|ов)?|результат)(?:\s{0,3}\(0\s?[-–]\s?2\))?"
    r"[^\w\n]{0,9}(?:(?:is|of|:)\s{0,3})?[^\w\n]{0,9}([012])(?![\d/-]|\.\d)",
    re.IGNORECASE,
)
_MARKED = re.compile(r"(?:\*\*|\\boxed\{|\[\[)\s{0,3}([012])(?:\.0)?\s{0,3}(?:/\s{0,3}2)?\s{0,3}(?:\*\*|\}|\]\])")
_LINE = re.compile(r"^\W{0,5}([012])(?:\.0)?(?:\s{0,3}/\s{0,3}2)?(?:\W{0,5}$|\s{0,3}[:.)–-]\s)", re.MULTILINE)


class Case(NamedTuple):
    """An answer and what it is judged by."""

    answer: str
    golds: tuple[str, ...]
    question: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is graded, what each grade means, and what the judge sees besides the answer, of `SHOWS`."""

    asks: str
    two: str
    one: str
    zero: str
    shows: tuple[str, ...] = ("question", "golds")


def ask_llm(llm: str, store: str, job: Callable[[LLMClient], Awaitable[T]]) -> T:
    """What a job makes of an LLM, which is open for as long; not to be called where an event loop runs.

    Args:
        llm: Its name; or a YAML file that has it as `llm`, with its settings, as an entry of a grid does.
        store: Under which name the cache keeps new replies.

    Raises:
        UserError: The LLM is unknown, or it cannot be used.
    """

    async def run() -> T:
        from r_eval.tasks.llm_client import LLMClient, replies_kept

        name, settings = llm_settings(llm)
        with replies_kept(store) as replies:
            async with LLMClient(name, replies, settings) as speaker:
                return await job(speaker)

    return asyncio.run(run())


async def ask(
    say: Callable[[str], Awaitable[str]], prompt: str, again: str, parse: Callable[[str], T | None]
) -> T | None:
    """What a reply says, asked once more where it cannot be parsed; None where the second one cannot."""
    for text in (prompt, f"{prompt}\n\n{again}"):
        found = parse(await say(text))
        if found is not None:
            return found
    return None


def llm_settings(llm: str) -> tuple[str, dict[str, Any]]:
    """An LLM's name and settings.

    Raises:
        UserError: A YAML file does not hold them.
    """
    if not llm.endswith((".yaml", ".yml")):
        return llm, {}
    entry = _read_yaml(llm, "LLM")
    if not isinstance(entry, dict) or not isinstance(entry.get("llm"), str):
        raise UserError(f"{llm}: expected an LLM as a grid has it, as in llm: openai/gpt-4o")
    return entry.pop("llm"), entry


class Judge(Batched):
    """An LLM's grade of the answer (0, 0.5 or 1); needs the LLM's name, as in judge@openai/gpt-4o."""

    name = "judge"

    def __init__(self, setup: str | None = None) -> None:
        """Keep the LLM's name; it is opened when answers are judged.

        Args:
            setup: What stands behind "@".

        Raises:
            UserError: The rubric is unknown.
        """
        self._llm, _, rubric = (setup or "").partition("#")
        self._rubrics = self.choose(rubric)
        self._tally = Counter[str]()
        self._error = ""

    def choose(self, name: str) -> Mapping[str, Callable[[Recognised], Rubric]]:
        """The rubrics that a name stands for, each in the languages that there are."""
        found = rubric(name or "correctness")
        return {name or "correctness": lambda language: found}

    def language(self, case: Case) -> Recognised:
        """The language in which the judge is asked."""
        return "en"

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
        cases = [Case(*row) for row in rows]

        async def judge_all(speaker: LLMClient) -> list[float]:
            return await asyncio.gather(*(self._score(speaker, case) for case in cases))

        return ask_llm(self._llm, "judge", judge_all)

    async def _score(self, speaker: LLMClient, case: Case) -> float:
        """The mean of an answer's grades, from 0 to 1; NaN where the LLM failed or a grade is unknown."""
        self._tally["answers"] += 1
        if not case.answer.strip():
            grades: list[int | None] = [0] * len(self._rubrics)
        else:
            language = self.language(case)
            again = prompt_file(_in_language("again", language))
            prompts = [prompt(case, rubric(language), language) for rubric in self._rubrics.values()]
            try:
                grades = await asyncio.gather(*(ask(speaker.complete, text, again, read_grade) for text in prompts))
            except UserError as error:
                self._tally["failed"] += 1
                self._error = str(error)
                return math.nan
        for name, grade in zip(self._rubrics, grades, strict=True):
            self._tally["unread " + name] += grade is None
            self._tally["sum " + name] += grade or 0
        return self.combine(grades)

    def combine(self, grades: Sequence[int | None]) -> float:
        """The score of an answer from its grades, from 0 to 1."""
        known = [grade for grade in grades if grade is not None]
        return math.fsum(known) / (TOP * len(known)) if len(known) == len(grades) else math.nan

    def summary(self) -> str:
        """The mean by rubric, and what could not be read, since it was last called; "" where nothing was judged."""
        tally, self._tally = self._tally, Counter()
        answers, failed = tally["answers"], tally["failed"]
        if not answers:
            return ""
        graded = answers - failed
        line = f"{self.name}@{self._llm}: {graded:,} of {answers:,} answers graded"
        if graded:
            line += ": " + ", ".join(f"{name} {tally['sum ' + name] / TOP / graded:.2f}" for name in self._rubrics)
        unread = {name: tally["unread " + name] for name in self._rubrics if tally["unread " + name]}
        if unread:
            where = ", ".join(f"{name} {count:,}" for name, count in unread.items())
            line += f"; {sum(unread.values()):,} grades could not be read ({where})"
        return line + (f"; {failed:,} not graded because the LLM failed: {self._error}" if failed else "")


class JudgeSix(Judge):
    """The mean of six grades, or one of them; needs the LLM's name, as in judge_six@openai/gpt-4o#accuracy."""

    name = "judge_six"
    needs_context = True

    def choose(self, name: str) -> Mapping[str, Callable[[Recognised], Rubric]]:
        if name and name not in SIX:
            raise UserError(f"judge_six: no criterion is called {name!r}; there are {', '.join(SIX)}")
        return {one: functools.partial(six_rubric, one) for one in ([name] if name else SIX)}

    def language(self, case: Case) -> Recognised:
        return recognised(case.question or " ".join(case.golds))

    def combine(self, grades: Sequence[int | None]) -> float:
        return math.fsum(grade or 0 for grade in grades) / (TOP * len(grades))


def prompt(case: Case, rubric: Rubric, language: Recognised = "en") -> str:
    """What the judge is asked; nothing that is filled in is read for $names again."""
    labels = _six(language)["labels"]
    golds = "\n".join(f"- {gold[:LONGEST]}" for gold in case.golds)
    parts = {
        "question": case.question and f"{labels['question']}: {case.question[:LONGEST]}",
        "context": case.context.strip() and f"{labels['context']}:\n{case.context[:LONGEST]}",
        "golds": golds and f"{labels['golds']}:\n{golds}",
    }
    lines = [parts[name] for name in SHOWS if name in rubric.shows and parts[name]]
    shown = "\n".join([*lines, f"{labels['answer']}: {case.answer[:LONGEST]}"])
    grades = {name: getattr(rubric, name) for name in _TEXTS}
    return Template(prompt_file(_in_language("judge", language))).substitute(shown=shown, **grades)


def read_grade(reply: str) -> int | None:
    """The grade in a judge's reply; None where there is none, or more than one.

    Read are JSON with a "score", a number behind "score", "grade" or the like, one in bold or brackets, one that has a
    line to itself, or the only number of the reply.

    >>> [read_grade(text) for text in ('{"score": 2}', "Grade: 1, since it lacks a name", "**0**", "1 or 2", "3")]
    [2, 1, 0, None, None]
    """
    from r_eval.tasks.graphs.judge import grade_in

    reply = reply[-LONGEST:]
    found = grade_in(reply)
    if found is not None:
        return found
    for pattern in (_LABELLED, _MARKED, _LINE):
        if grades := set(pattern.findall(reply)):
            return int(grades.pop()) if len(grades) == 1 else None
    return None


def rubric(name: str) -> Rubric:
    """A rubric by name, or the one in a YAML file.

    Raises:
        UserError: There is none of that name, or the file is not of the form.
    """
    if name.endswith((".yaml", ".yml")):
        return _rubric(name, _read_yaml(name, "rubric"))
    if name not in _criteria():
        raise UserError(f"judge: no criterion is called {name!r}; there are {', '.join(sorted(_criteria()))}")
    return _rubric(name, _criteria()[name])


def six_rubric(name: str, language: Recognised) -> Rubric:
    """One of the six criteria in a language."""
    return _rubric(name, _six(language)[name])


def _rubric(where: str, data: object) -> Rubric:
    known: Mapping[str, Any] = data if isinstance(data, dict) else {}
    shows = known.get("shows", ["question", "golds"])
    if not all(isinstance(known.get(key), str) for key in _TEXTS) or set(known) - {*_TEXTS, "shows"}:
        raise UserError(f"judge: {where}: expected the texts {', '.join(_TEXTS)}, and perhaps a list `shows`")
    if not isinstance(shows, list) or any(item not in SHOWS for item in shows):
        raise UserError(f"judge: {where}: shows: expected a list of {', '.join(SHOWS)}")
    return Rubric(**{key: known[key] for key in _TEXTS}, shows=tuple(shows))


@functools.cache
def _criteria() -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = yaml.safe_load(prompt_file("criteria.yaml"))
    return found


@functools.cache
def _six(language: Recognised) -> dict[str, Any]:
    """The six criteria in a language, by name, and under "labels" what is written before each part."""
    import yaml

    found: dict[str, Any] = yaml.safe_load(prompt_file(f"six.{language}.yaml"))
    return found


def _read_yaml(path: str, what: str) -> Any:
    import yaml

    from r_eval.files import read_yaml

    try:
        return read_yaml(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read as the file of a {what}: {error}") from None


def _in_language(name: str, language: Recognised) -> str:
    return f"{name}.md" if language == "en" else f"{name}.{language}.md"


@functools.cache
def prompt_file(name: str) -> str:
    """The text of a file among the prompts."""
    return files("r_eval.analysis.metrics").joinpath("prompts", name).read_text(encoding="utf-8").strip()

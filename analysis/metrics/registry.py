"""Metrics by name, and the scores of many answers at once.

A name is a built-in one; or that of an entry point of the group `r_eval.metrics`; or `module:function` or
`./file.py:function`. A module is imported when its metric is first used. After "@" follows what a built-in is set
up with: `rouge_l@ru`, `bert_score@FOLDER`, `judge@LLM`, `quest_eval@LLM`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from r_eval import plugins
from r_eval.errors import UserError
from r_eval.isolation import describe

_log = logging.getLogger("r_eval")


class Batched:
    """Base of a metric that is expensive per answer: it loads a model, or asks an LLM over a network.

    Attributes:
        needs_context: Whether `batch` also takes `contexts`: per answer, what the environment returned before it.
    """

    needs_context = False

    def __call__(self, prediction: str, golds: Sequence[str]) -> float:
        """The score of one answer."""
        return self.batch([prediction], [golds])[0]

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers, in their order; NaN where the infrastructure failed.

        Args:
            questions: What the predictions answer, where it is known.
        """
        raise NotImplementedError

    def summary(self) -> str:
        """One line for a person about the scores since it was last called; "" where there is nothing to say."""
        return ""


Function = Callable[[str, Sequence[str]], float] | Batched


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: (prediction, golds) -> a number from 0 to 1, the best over the golds.

    Attributes:
        about: One line.
        version: Raised when its numbers change; scores of another version are computed again.
        needs: The extra, model or LLM without which it does not run; "" for none.
    """

    name: str
    function: Function
    about: str = ""
    version: int = 1
    needs: str = ""

    def __call__(self, prediction: str, golds: Sequence[str]) -> float:
        """The score of one answer; NaN where the infrastructure failed.

        Raises:
            UserError: The metric gave a number outside its range.
        """
        return self._checked(self.function(prediction, golds), "")

    def scores(
        self,
        predictions: Sequence[str],
        golds: Sequence[Sequence[str]],
        questions: Sequence[str] | None = None,
        context: Callable[[int], str] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[float]:
        """The scores of many answers, in their order; at once where the metric can.

        Args:
            context: What the environment returned before the answer at a place; called only if the metric reads it.
            ids: Of the episodes, for messages.

        Raises:
            UserError: It cannot run here, raised an exception, or gave a number outside its range; names the episode.
        """
        batch = getattr(self.function, "batch", None)
        try:
            if batch is None:
                found = [self.function(prediction, right) for prediction, right in zip(predictions, golds, strict=True)]
            elif getattr(self.function, "needs_context", False) and context is not None:
                found = batch(predictions, golds, questions, [context(place) for place in range(len(predictions))])
            else:
                found = batch(predictions, golds, questions)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"metric '{self.name}' failed: {describe(error)}") from error
        where = [f" for episode {id_}" for id_ in ids] if ids is not None else [""] * len(found)
        return [self._checked(score, place) for score, place in zip(found, where, strict=True)]

    def _checked(self, score: Any, where: str) -> float:
        try:
            number = float(score)
        except (TypeError, ValueError):
            number = math.inf
        if math.isnan(number) or 0.0 <= number <= 1.0:
            return number
        if 0.0 <= round(number, 9) <= 1.0:  # a rounding error
            return min(1.0, max(0.0, number))
        raise UserError(f"metric '{self.name}' returned {score!r}{where}: expected a number from 0 to 1")


class _BuiltIn(NamedTuple):
    """A row of the table; `takes` is what may follow "@"."""

    place: str
    version: int = 1
    needs: str = ""
    takes: str = ""


_BUILT_IN = {
    "bert_score": _BuiltIn("text:BertScore", 1, "extra bert", "FOLDER"),
    "bleu": _BuiltIn("text:bleu", 1, "extra metrics"),
    "bleu_published": _BuiltIn("published:bleu_published", 1, "extra metrics"),
    "covered_match": _BuiltIn("qa:covered_match", 6),
    "covered_match_published": _BuiltIn("published:covered_match_published"),
    "embedding_similarity": _BuiltIn("text:EmbeddingSimilarity", 1, "extra dense", "MODEL"),
    "exact_match": _BuiltIn("qa:exact_match", 6),
    "judge": _BuiltIn("judge:Judge", 1, "an LLM", "LLM"),
    "judge_six": _BuiltIn("judge:JudgeSix", 1, "an LLM", "LLM"),
    "quest_eval": _BuiltIn("quest_eval:QuestEval", 2, "an LLM", "LLM"),
    "quest_eval_precision": _BuiltIn("quest_eval:Precision", 2, "an LLM", "LLM"),
    "quest_eval_recall": _BuiltIn("quest_eval:Recall", 2, "an LLM", "LLM"),
    "relaxed_f1": _BuiltIn("published:relaxed_f1", 1, "extra metrics"),
    "rouge_1": _BuiltIn("text:rouge_1", 2, "", "ru"),
    "rouge_2": _BuiltIn("text:rouge_2", 2, "", "ru"),
    "rouge_l": _BuiltIn("text:rouge_l", 2, "", "ru"),
    "rouge_l_published": _BuiltIn("published:rouge_l_published", 1, "extra metrics"),
    "substring_match": _BuiltIn("qa:substring_match", 6),
    "substring_match_published": _BuiltIn("published:substring_match_published"),
    "token_f1": _BuiltIn("qa:token_f1", 6),
    "token_f1_published": _BuiltIn("published:token_f1_published"),
    "word_f1": _BuiltIn("qa:word_f1", 2),
    "word_f1_published": _BuiltIn("published:word_f1_published", 1, "extra metrics"),
}
_HARMLESS = "ru"
"""What may follow "@" without naming code, a file or an LLM."""
_NAMED_BY_USER: set[str] = set()
"""What `get` was asked for: names that a person gave, in a grid, on the command line or in a call."""


def names() -> list[str]:
    """The names that `get` knows: the built-in ones and those of entry points."""
    return sorted({*_BUILT_IN, *_entry_points()})


def get(name: str) -> Metric:
    """The metric of a name that a person gave; for one that a run's folder gave, see `get_trusted`.

    Raises:
        UserError: There is none, and the message names the closest; or it cannot be imported, is not callable, or takes
            nothing behind "@".
    """
    _NAMED_BY_USER.add(name)
    return _get(name)


def get_trusted(name: str) -> Metric:
    """The metric that a run's folder names.

    A folder may come from a stranger, and is no reason to run code, to read a file or to ask an LLM: a name that means
    one of these must have been given by a person as well, since this process began.

    Raises:
        UserError: It was not; or as for `get`.
    """
    if not is_trusted(name):
        raise UserError(
            f"the run names the metric {name}, which stands for code, a file or an LLM of its author's choice. "
            f"If you know the run, name the metric yourself:  r-eval score RUN --metric '{name}'"
        )
    return _get(name)


def filter_trusted(names: Iterable[str]) -> list[str]:
    """Those of the metrics of existing scores that may be computed again; the log names the others."""
    found = list(names)
    for name in found:
        if not is_trusted(name):
            _log.warning("%s is not computed again:  r-eval score RUN --metric '%s'  does it", name, name)
    return list(filter(is_trusted, found))


def is_trusted(name: str) -> bool:
    """Whether a name may be followed that a run's folder gave."""
    head, at, _ = name.partition("@")
    is_harmless = head in _BUILT_IN and _BUILT_IN[head].takes == _HARMLESS
    return name in _NAMED_BY_USER or not (":" in name or (at and not is_harmless))


def summaries(names: Iterable[str]) -> list[str]:
    """What metrics have to say of the scores since they were last asked, for a person; each line once."""
    functions = [_get(name).function for name in names]
    lines = [function.summary() for function in functions if isinstance(function, Batched)]
    return list(dict.fromkeys(filter(None, lines)))


def _get(name: str) -> Metric:
    if name.partition("@")[0] in _BUILT_IN:
        return _built_in(name)
    if ":" not in name and name not in _entry_points():
        raise UserError(plugins.unknown("metric", name, names()))
    found = plugins.from_path(name, "metrics") if ":" in name else _entry_points()[name].load()
    function = _made(found) if isinstance(found, type) else found
    if not callable(function):
        raise UserError(f"metric '{name}' is not callable: expected (prediction, golds) -> a number from 0 to 1")
    return Metric(name, function, _first_line(function), int(getattr(function, "version", 1)))


@functools.cache
def _made(metric: type[Any]) -> Any:
    return metric()


@functools.cache
def _built_in(name: str) -> Metric:
    head, at, value = name.partition("@")
    row = _BUILT_IN[head]
    module, _, attribute = row.place.partition(":")
    found = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
    if at and not row.takes:
        raise UserError(f"metric '{head}' takes nothing behind '@'")
    function = found(value if at else None) if row.takes else found
    return Metric(name, function, _first_line(function), row.version, row.needs)


def _first_line(function: object) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


@functools.cache
def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group="r_eval.metrics")}

"""Which function a metric's name stands for, and how many answers are scored at once.

A name is one of the built-in ones; or that of an entry point of the group `r_eval.metrics`; or `module:function` or
`./file.py:function`. A module is imported when its metric is first asked for. Behind "@" a built-in may be given what
it is set up with: `numeric_match@0.05`, `rouge_l@ru`, `bert_score@FOLDER`, `judge@LLM`, `quest_eval@LLM`.
"""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

from r_eval import plugins
from r_eval.errors import UserError

Metric = Callable[[str, Sequence[str]], float]
"""(prediction, golds) -> a number from 0 to 1, the best over the golds."""

_BUILT_IN = {
    "bert_score": "bert:BertScore",
    "bleu": "bleu:bleu",
    "bleu_published": "published_crud:bleu_published",
    "covered_match": "covered:covered_match",
    "covered_match_published": "covered:covered_match_published",
    "embedding_similarity": "similarity:EmbeddingSimilarity",
    "exact_match": "exact:exact_match",
    "judge": "judge:JudgeMetric",
    "judge_six": "judge_six:JudgeSix",
    "list_f1": "elements:list_f1",
    "numeric_match": "numbers:numeric_match",
    "quest_eval": "quest_eval:Combined",
    "quest_eval_precision": "quest_eval:Precision",
    "quest_eval_recall": "quest_eval:Recall",
    "relaxed_f1": "relaxed:relaxed_f1",
    "rouge_1": "rouge:Rouge1",
    "rouge_2": "rouge:Rouge2",
    "rouge_l": "rouge:RougeL",
    "rouge_l_published": "published_crud:rouge_l_published",
    "set_f1": "elements:set_f1",
    "substring_match": "substring:substring_match",
    "substring_match_published": "substring:substring_match_published",
    "token_f1": "f1:token_f1",
    "token_f1_published": "published:token_f1_published",
    "word_f1": "word_f1:word_f1",
    "word_f1_published": "published_crud:word_f1_published",
}
_HARMLESS = frozenset({"numeric_match", "rouge_1", "rouge_2", "rouge_l"})
"""Those that take a number or a language behind "@": no code, no file, no LLM."""


@runtime_checkable
class Batched(Protocol):
    """A metric that is dear by the piece: it loads a model, or asks an LLM over a network."""

    def __call__(self, prediction: str, golds: Sequence[str]) -> float:
        """The score of one answer."""
        return self.batch([prediction], [golds])[0]

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers, in their order; NaN where the machinery failed.

        Args:
            questions: What the predictions answer, where it is known; a metric may look at it.
        """
        ...


@runtime_checkable
class Seeing(Batched, Protocol):
    """A metric that judges an answer by what it was given from, too."""

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers of which it is not known what they were given from."""
        return self.seeing(predictions, golds, questions, None)

    def seeing(
        self,
        predictions: Sequence[str],
        golds: Sequence[Sequence[str]],
        questions: Sequence[str] | None,
        contexts: Sequence[str] | None,
    ) -> list[float]:
        """As `batch`.

        Args:
            contexts: What the environment returned before each answer.
        """
        ...


@runtime_checkable
class Telling(Protocol):
    """A metric with which a person should see more than its scores."""

    def told(self) -> str:
        """One line about what was done since it was last asked; "" where there is nothing to say."""
        ...


def names() -> list[str]:
    """The names that `get` knows: the built-in ones and those of entry points."""
    return sorted({*_BUILT_IN, *_strangers()})


_log = logging.getLogger("r_eval")
_NAMED: set[str] = set()
"""What `get` was asked for: names that a person gave, in a grid, on the command line or in a call."""


def of_a_run(name: str) -> Metric:
    """The metric that a run's folder names.

    A folder may come from a stranger, and it is no reason to run code, to read a file or to ask an LLM: a name that
    means one of these must have been given by a person as well, since this process began.

    Raises:
        UserError: It was not; or as for `get`.
    """
    if not _followed(name):
        raise UserError(
            f"the run names the metric {name}, which stands for code, a file or an LLM of somebody's choice. If you "
            f"know the run, name the metric yourself:  r-eval score RUN --metric '{name}'"
        )
    return get(name)


def of_kept_scores(names: Iterable[str]) -> list[str]:
    """Those of the further metrics of kept scores that may be computed anew; the log names the others."""
    given = list(names)
    for name in given:
        if not _followed(name):
            _log.warning("%s is not computed anew:  r-eval score RUN --metric '%s'  does it", name, name)
    return [name for name in given if _followed(name)]


def _followed(name: str) -> bool:
    head, given, _ = name.partition("@")
    return name in _NAMED or not (":" in name or (given and head not in _HARMLESS))


@functools.cache
def get(name: str) -> Metric:
    """The metric of a name that a person gave; for one that a run's folder gave, see `of_a_run`.

    Raises:
        UserError: There is none, and the message names the closest; or it cannot be imported, or is no function, or
            takes nothing behind "@".
    """
    _NAMED.add(name)
    head, given, value = name.partition("@")
    if head in _BUILT_IN:
        return _built_in(head, value if given else None)
    if ":" in name:
        return _callable(name, plugins.from_path(name, "metrics"))
    if name in _strangers():
        return _callable(name, _strangers()[name].load())
    raise UserError(plugins.unknown("metric", name, names()))


def score_all(
    name: str,
    predictions: Sequence[str],
    golds: Sequence[Sequence[str]],
    questions: Sequence[str] | None = None,
    context: Callable[[int], str] | None = None,
) -> list[float]:
    """The scores of many answers by one metric, in their order; at once where the metric can.

    Args:
        context: What the environment returned before the answer at a place; asked for only where a metric looks at it.

    Raises:
        UserError: There is no such metric, or it cannot run here.
    """
    metric = get(name)
    if isinstance(metric, Seeing):
        seen = [context(place) for place in range(len(predictions))] if context is not None else None
        return metric.seeing(predictions, golds, questions, seen)
    if isinstance(metric, Batched):
        return metric.batch(predictions, golds, questions)
    return [metric(prediction, right) for prediction, right in zip(predictions, golds, strict=True)]


def told(names: Iterable[str]) -> list[str]:
    """What metrics have to say of what they did since they were last asked, for a person; each line once.

    A metric says it by a method `told() -> str`; most have none, and nothing to say.
    """
    said = [get(name).told() for name in names if isinstance(get(name), Telling)]  # type: ignore[attr-defined]
    return list(dict.fromkeys(line for line in said if line))


def _built_in(name: str, value: str | None) -> Metric:
    module, _, attribute = _BUILT_IN[name].partition(":")
    found: Any = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
    if isinstance(found, type):
        made: Metric = found(value)
        return made
    if value is None:
        metric: Metric = found
        return metric
    if name != "numeric_match":
        raise UserError(f"metric '{name}' takes nothing behind '@'")
    return _within(found, value)


def _within(metric: Callable[[str, Sequence[str], float], float], value: str) -> Metric:
    try:
        tolerance = float(value)
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance < 1:
        raise UserError(f"numeric_match@{value}: expected a share from 0 to 1, as in numeric_match@0.05")

    def within(prediction: str, golds: Sequence[str]) -> float:
        """Numeric match within a share of the gold."""
        return metric(prediction, golds, tolerance)

    return within


def _callable(name: str, found: object) -> Metric:
    made = found() if isinstance(found, type) else found
    if not callable(made):
        raise UserError(f"metric '{name}' is no function: expected (prediction, golds) -> a number from 0 to 1")
    metric: Metric = made
    return metric


@functools.cache
def _strangers() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group="r_eval.metrics")}

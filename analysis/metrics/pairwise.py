"""Metrics of two texts that a model compares: each pair of texts once, the best gold counting."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from r_eval.analysis.metrics.registry import Batched

Pair = tuple[str, str]


class Pairwise(Batched, abc.ABC):
    """A number from 0 to 1 of an answer and a gold; 1 where they are the same text, 0 where one is empty."""

    @abc.abstractmethod
    def compared(self, text: str) -> str:
        """The text as it is compared."""

    @abc.abstractmethod
    def pairs(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        """The numbers of some pairs of texts, at least one; they differ, and none is empty."""

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers; each pair of texts is looked at once.

        Raises:
            MissingExtra, UserError: What the metric needs is not installed; there is no such model.
        """
        ours = [self.compared(prediction) for prediction in predictions]
        theirs = [[self.compared(gold) for gold in right] for right in golds]
        both = [(one, two) for one, right in zip(ours, theirs, strict=True) for two in right]
        unlike = sorted({(one, two) for one, two in both if one and two and one != two})
        known = self.pairs(unlike) if unlike else {}
        return [
            max((1.0 if one == two else known.get((one, two), 0.0) for two in right), default=0.0)
            for one, right in zip(ours, theirs, strict=True)
        ]

"""Drawing the next token by chance, each row of a batch with a generator of its own.

The largest of `logits / temperature + g`, where g is drawn from the standard Gumbel distribution for every token, is a
draw from the softmax of `logits / temperature` (Gumbel 1954; Maddison et al. 2014). So a greedy search over these sums
samples, and what a row draws depends on its own seed and not on what else is in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

TINY = 1e-30


class Drawing:
    """A logits processor of transformers that adds the chance.

    Args:
        seeds: Of each row; None draws anew every time.
        temperature: Above 0.
    """

    def __init__(self, seeds: Sequence[int | None], temperature: float) -> None:
        self._seeds, self._temperature = seeds, temperature
        self._generators: list[torch.Generator] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores of every token, (rows, tokens), with chance added to them."""
        import torch

        if not self._generators:
            self._generators = [self._generator(seed, torch.Generator(scores.device)) for seed in self._seeds]
        chance = torch.stack(
            [torch.rand(scores.shape[1], generator=generator, device=scores.device) for generator in self._generators]
        )
        gumbel = -torch.log(-torch.log(chance.clamp(TINY, 1 - 1e-7)))
        return scores.float() / self._temperature + gumbel

    @staticmethod
    def _generator(seed: int | None, made: torch.Generator) -> torch.Generator:
        if seed is None:
            made.seed()
        else:
            made.manual_seed(seed)
        return made

"""Seeds of everything that is drawn by chance in an episode.

A seed depends on the run's seed, the question, the epoch and the stream (what is drawn for), and on nothing else: not
on the order in which episodes are carried out, nor on the machine. All systems draw the same for the same question, so
that their comparison, which is paired by question, has less noise.
"""

from __future__ import annotations

import dataclasses
import hashlib


@dataclasses.dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of one epoch of one question."""

    run: int
    question: str
    epoch: int

    def of(self, stream: str) -> int:
        """The seed of a stream, from 0 to 2**31 - 1, which every generator and every server takes."""
        key = "\0".join([str(self.run), self.question, str(self.epoch), stream])
        made = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=4).digest()
        return int.from_bytes(made, "big") >> 1

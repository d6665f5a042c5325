"""AMiner: a scholar database behind seven query APIs, over an embedded, invented world.

The APIs and their fields are those of SoAy (https://arxiv.org/abs/2405.15165), on which the paper's AMiner
tasks rest. `scripts/data/aminer` made it; a file of scholars of one's own (see `store`) can take its place. The
source `live` speaks to a server instead.
"""

from .environment import AMiner

__all__ = ["AMiner"]

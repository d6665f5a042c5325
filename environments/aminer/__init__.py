"""AMiner: a scholar database behind seven query APIs, over an embedded snapshot of an invented world.

The APIs and their fields are those of SoAy (https://arxiv.org/abs/2405.15165), on which the paper's AMiner
tasks rest. `generate` makes other snapshots, of any size; `importing` makes them of real bibliographies. The source
`live` speaks to a server instead, and `AMiner.http_app` is such a server.
"""

from .environment import AMiner
from .shapes import (
    Author,
    Coauthor,
    Education,
    Employment,
    FoundPublication,
    Person,
    PersonInfo,
    PersonPublication,
    Publication,
)

__all__ = [
    "AMiner",
    "Author",
    "Coauthor",
    "Education",
    "Employment",
    "FoundPublication",
    "Person",
    "PersonInfo",
    "PersonPublication",
    "Publication",
]

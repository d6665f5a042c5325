"""Wiki: a small encyclopedia behind `Search` and `Lookup`, over an embedded snapshot of pages in plain sentences.

The two query APIs are those of ReAct (https://arxiv.org/abs/2210.03629), on which the paper's wiki tasks rest.
`build` makes the embedded snapshot; a file with the same tables (see `snapshot`) can take its place.
"""

from .environment import Wiki

__all__ = ["Wiki"]

"""Wiki: a small encyclopedia behind `Search` and `Lookup`, over embedded pages in plain sentences.

The two query APIs are those of ReAct (https://arxiv.org/abs/2210.03629), on which the paper's wiki tasks rest.
`scripts/data/wiki` made the embedded pages; another file of pages (see `pages`) can take their place.
"""

from .environment import Wiki

__all__ = ["Wiki"]

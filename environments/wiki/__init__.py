"""Wiki: a small encyclopedia behind `Search` and `Lookup`, over embedded pages in plain sentences.

The two query APIs are those of ReAct (https://arxiv.org/abs/2210.03629), on which the paper's wiki tasks rest; as in
the paper's appendix A, Lookup also matches approximately and returns several paragraphs. `scripts/data/wiki` made the
embedded pages. Other sources: a file of one's own (`pages`), a MediaWiki (`live`), a ZIM file (`zim`).
"""

from .environment import Wiki

__all__ = ["Wiki"]

"""Where the wiki environment reads its pages: what every source gives, and the sources besides files of pages.

- `base`: what a source is.
- `live`: a MediaWiki asked over HTTP, through `mediawiki` (polite requests) and `replies` (what was answered, on disk).
- `zim`: a ZIM file, as Kiwix offers them of Wikipedia for reading offline.
- `html`: paragraphs and choices of a rendered page, for both.

A file of pages, the third source, is `..store`.
"""

from .base import Ambiguous, Choice, Page, Source

__all__ = ["Ambiguous", "Choice", "Page", "Source"]

"""Which format a wiki's dump is in, by how it begins."""

from __future__ import annotations

import re

from r_eval.environments.dumps import Dump
from r_eval.errors import UserError

FORMATS = ("json-lines", "cirrus", "zim")
_ZIM = b"ZIM\x04"
_INDEX_LINE = re.compile(r'\{\s*"index"\s*:')
_WIKITEXT = re.compile(r"(?:<\?xml[^>]*>\s*)?<mediawiki\b")


def guess(dump: Dump) -> str:
    """One of `FORMATS`.

    Raises:
        UserError: The file begins like none of them.
    """
    if dump.head.startswith(_ZIM):
        return "zim"
    head = dump.head[:65536].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if _INDEX_LINE.match(head):
        return "cirrus"
    if head.startswith("{"):
        return "json-lines"
    if _WIKITEXT.match(head):
        raise UserError(
            f"{dump.path} is an XML dump of MediaWiki, whose pages are wikitext and no plain text: take the wiki's "
            "CirrusSearch dump or a ZIM file, or ask the wiki itself with the setting source: live"
        )
    raise UserError(
        f"{dump.path} is in no known format: expected JSON Lines of pages (title, text), a CirrusSearch dump or a ZIM "
        f"file; name the format ({', '.join(FORMATS)}) if it begins otherwise"
    )

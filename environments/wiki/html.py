"""A page as a wiki renders it, read as paragraphs.

It takes what MediaWiki's parsers put out, and what makers of ZIM files leave of it: everything is known by the classes
and roles that skins and templates give it. What is not running text (tables, boxes of links, notes, pictures) is left
out, so that the first paragraph is the article's first sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .base import Page, begins_ambiguous, one_line

# fmt: off
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt", "figcaption",
    "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "main", "ol", "p", "pre", "section", "summary", "ul",
))
_LEFT_OUT = frozenset((
    "audio", "button", "figure", "footer", "form", "h1", "head", "header", "iframe", "img", "input", "link", "math",
    "nav", "noscript", "object", "script", "style", "svg", "table", "template", "title", "video",
))
_LEFT_OUT_CLASSES = frozenset((
    "ambox", "catlinks", "coordinates", "dablink", "hatnote", "infobox", "metadata", "mw-cite-backlink",
    "mw-editsection", "mw-empty-elt", "mw-references-wrap", "navbox", "noexcerpt", "noprint", "printfooter",
    "reference", "references", "reflist", "shortdescription", "sidebar", "sistersitebox", "thumb", "toc",
    "vertical-navbox", "zim-footer",
))
# fmt: on
_LEFT_OUT_ROLES = ("navigation", "note", "presentation")
_BODIES = (".//*[@id='mw-content-text']", ".//*[contains(concat(' ', @class, ' '), ' mw-parser-output ')]", ".//body")
_AMBIGUOUS_MARKS = {"disambig", "disambigbox", "disambiguation", "dmbox-disambig", "mw:PageProp/disambiguation"}


def read_page(title: str, markup: str | bytes) -> Page:
    """A page from its HTML; a disambiguation page is known by a class, an id or a property, or by its first words."""
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    data = markup.encode("utf-8", "replace") if isinstance(markup, str) else markup
    try:
        document = lxml.html.document_fromstring(data, parser=parser)
    except lxml.etree.ParserError:  # nothing but spaces and comments
        return Page(title, ())
    marks = document.xpath("//@class | //@id | //@property")
    is_marked = not all(_AMBIGUOUS_MARKS.isdisjoint(mark.split()) for mark in marks)
    body = next((found[0] for path in _BODIES if (found := document.xpath(path))), document)
    for element in list(body.iterdescendants()):
        if _is_left_out(element) and element.getparent() is not None:
            element.drop_tree()
    texts = tuple(_paragraphs(body))
    return Page(title, texts, is_marked or begins_ambiguous(texts))


def _paragraphs(body: Any) -> Iterator[str]:
    """The paragraphs, list items and headings ("== Heading ==") of an element, in order."""
    import lxml.etree

    words: list[str] = []
    heading = ""
    for event, element in lxml.etree.iterwalk(body, events=("start", "end")):
        if element.tag in _BLOCKS:
            if text := one_line("".join(words)):
                yield f"{heading} {text} {heading}" if heading else text
            words.clear()
            is_heading = event == "start" and element.tag[0] == "h" and element.tag[1:].isdecimal()
            heading = "=" * int(element.tag[1:]) if is_heading else ""
        elif element.tag == "br":
            words.append(" ")
        inside = element.text if event == "start" else (element.tail if element is not body else None)
        words.append(inside or "")
    if text := one_line("".join(words)):
        yield text


def _is_left_out(element: Any) -> bool:
    return (
        element.tag in _LEFT_OUT
        or element.get("role") in _LEFT_OUT_ROLES
        or not _LEFT_OUT_CLASSES.isdisjoint((element.get("class") or "").split())
        or "display:none" in (element.get("style") or "").replace(" ", "")
    )

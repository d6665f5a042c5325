"""A page as a wiki renders it, read as paragraphs and, where it is a disambiguation page, as choices.

It takes what MediaWiki's parsers put out, and what makers of ZIM files leave of it: everything is known by the classes
and roles that skins and templates give it. What is not running text (tables, boxes of links, notes, pictures) is left
out, so that the first paragraph is the article's first sentences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from r_eval.errors import MissingExtra

from .folding import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

# fmt: off
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
    "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "main", "ol", "p", "pre", "section",
    "summary", "ul",
))
_LEFT_OUT = frozenset((
    "audio", "button", "figure", "footer", "form", "h1", "head", "header", "iframe", "img", "input", "link",
    "math", "nav", "noscript", "object", "script", "style", "svg", "table", "template", "title", "video",
))
_LEFT_OUT_CLASSES = frozenset((
    "ambox", "catlinks", "coordinates", "dablink", "hatnote", "infobox", "metadata", "mw-cite-backlink",
    "mw-editsection", "mw-empty-elt", "mw-references-wrap", "navbox", "noexcerpt", "noprint", "printfooter",
    "reference", "references", "reflist", "shortdescription", "sidebar", "sistersitebox", "thumb", "toc",
    "vertical-navbox", "zim-footer",
))
# fmt: on
_HEADINGS = {f"h{level}": "=" * level for level in range(2, 7)}
_LEFT_OUT_ROLES = ("navigation", "note", "presentation")
_BODIES = (".//*[@id='mw-content-text']", ".//*[contains(concat(' ', @class, ' '), ' mw-parser-output ')]", ".//body")
_ATTRIBUTE = re.compile(r"""(?:class|id|property)=(?:"([^"]*)"|'([^']*)')""")
_AMBIGUOUS_MARKS = frozenset(
    ("disambig", "disambigbox", "disambiguation", "dmbox-disambig", "mw:PageProp/disambiguation")
)
_AMBIGUOUS_START = re.compile(r"[^\n]{1,200}\b(may|can|could) (also )?refer to:?\s*$|[^\n]{1,200}\bmay be:\s*$")


@dataclass(frozen=True, slots=True)
class Link:
    """A line of a list: the page that its first link leads to, and what the line says of it.

    Attributes:
        href: The link's address as it stands.
        title: The page's title as the link names it; empty where it does not.
        description: The line's text, without the link's where it begins with it.
    """

    href: str
    title: str
    description: str


def require() -> None:
    """Whoever will read pages asks first.

    Raises:
        MissingExtra: lxml is not installed.
    """
    try:
        import lxml.html  # noqa: F401
    except ImportError:
        raise MissingExtra("lxml", "wiki", "Reading the HTML of wiki pages") from None


def parse(markup: str | bytes) -> Any:
    """The element that holds an article's text, without what is not running text; None where there is nothing."""
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    data = markup.encode("utf-8", "replace") if isinstance(markup, str) else markup
    try:
        document = lxml.html.document_fromstring(data, parser=parser)
    except lxml.etree.ParserError:  # nothing but spaces and comments
        return None
    body = next((found[0] for path in _BODIES if (found := document.xpath(path))), document)
    for element in list(body.iterdescendants()):
        if _is_left_out(element) and element.getparent() is not None:
            element.drop_tree()
    return body


def paragraphs(body: Any) -> Iterator[str]:
    """The paragraphs, list items and headings ("== Heading ==") of what `parse` returns, in order."""
    import lxml.etree

    words: list[str] = []
    heading = ""
    for event, element in lxml.etree.iterwalk(body, events=("start", "end")):
        if element.tag in _BLOCKS:
            text = one_line("".join(words))
            words.clear()
            if text:
                yield f"{heading} {text} {heading}" if heading else text
            heading = _HEADINGS.get(element.tag, "") if event == "start" else ""
        elif element.tag == "br":
            words.append(" ")
        inside = element.text if event == "start" else (element.tail if element is not body else None)
        words.append(inside or "")
    text = one_line("".join(words))
    if text:
        yield text


def links(body: Any) -> Iterator[Link]:
    """The lines of the lists of a disambiguation page that lead to another page; links to pages not there are none."""
    for item in body.iter("li"):
        anchors = (a for a in item.iter("a") if next(a.iterancestors("li")) is item)
        link = next((a for a in anchors if a.get("href") and not {"new", "external", "extiw"} & _classes(a)), None)
        if link is None:
            continue
        named = one_line(link.text_content())
        own = "".join(item.xpath("./text() | ./*[not(self::ul or self::ol or self::dl)]//text()"))
        line = one_line(own)
        description = line.removeprefix(named).lstrip(" ,:;–—-") if line.startswith(named) else line
        yield Link(link.get("href"), link.get("title") or "", description)


def marked_ambiguous(markup: str) -> bool:
    """Whether a page's mark-up says that it is a disambiguation page: by a class, an id or a property."""
    values = ((one or other).split() for one, other in _ATTRIBUTE.findall(markup))
    return not all(map(_AMBIGUOUS_MARKS.isdisjoint, values))


def begins_ambiguous(first: str) -> bool:
    """Whether a page's first paragraph, as the English Wikipedia words it, is that of a disambiguation page.

    >>> begins_ambiguous("Mercury may refer to:"), begins_ambiguous("The treaty may refer to later laws, and does.")
    (True, False)
    """
    return _AMBIGUOUS_START.fullmatch(first) is not None


def _classes(element: Any) -> set[str]:
    return set((element.get("class") or "").split())


def _is_left_out(element: Any) -> bool:
    return (
        element.tag in _LEFT_OUT
        or element.get("role") in _LEFT_OUT_ROLES
        or not _classes(element).isdisjoint(_LEFT_OUT_CLASSES)
        or "display:none" in (element.get("style") or "").replace(" ", "")
    )

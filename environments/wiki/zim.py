"""A wiki as one ZIM file, as Kiwix offers them of Wikipedia (https://library.kiwix.org), read without a network.

Reading an archive is safe for many threads, its search is not (libzim's own rule), so that searches take turns.
"""

from __future__ import annotations

import posixpath
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from r_eval.environments.base import EnvironmentFailure
from r_eval.errors import MissingExtra
from r_eval.files import is_file, user_path

from . import html
from .base import LONGEST_TITLE, Ambiguous, Choice, Page, closest
from .folding import one_line, title_key

if TYPE_CHECKING:
    from libzim.reader import Archive, Entry

# fmt: off
_NAMESPACES = frozenset((
    "book", "category", "draft", "file", "help", "image", "media", "mediawiki", "module", "portal", "project",
    "special", "talk", "template", "timedtext", "topic", "user", "wikipedia",
))
"""What MediaWiki calls its namespaces in English; of each there is one more for its talk."""
# fmt: on
_COMPARED = 50
"""Suggestions that are compared with a title."""


class Zim:
    """The articles of one ZIM file.

    Args:
        path: The file; of one in parts, the first part without its last two letters.

    Raises:
        FileNotFoundError, ValueError: The file is missing, or not a ZIM file.
        MissingExtra: libzim or lxml is not installed.
    """

    def __init__(self, path: Path) -> None:
        try:
            from libzim.reader import Archive
            from libzim.suggestion import SuggestionSearcher
        except ImportError:
            raise MissingExtra("libzim", "zim", "Reading a ZIM file") from None
        html.require()
        self.path = user_path(path).resolve()
        if not is_file(self.path) and not is_file(self.path.with_name(f"{self.path.name}aa")):
            raise FileNotFoundError(f"there is no ZIM file at {path}")
        try:
            self._archive: Archive = Archive(self.path)
            self.version: str = self._archive.uuid.hex[:16]
        except RuntimeError as error:
            raise ValueError(f"{path} is no ZIM file, or not whole: {error}") from None
        self._searcher = SuggestionSearcher(self._archive)
        self._searching = threading.Lock()

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.path,)

    def find(self, title: str) -> Page | Ambiguous | None:
        """The article with this title, or to which it redirects; or what the title may refer to."""
        key = title_key(title) if len(title) <= LONGEST_TITLE else ""
        if not key or _elsewhere(title):
            return None
        entry = self._titled(" ".join(title.replace("_", " ").split()))
        if entry is None:
            same = {near.path: near for near in self._suggested(title) if title_key(near.title) == key}
            entry = next(iter(same.values())) if len(same) == 1 else None
        return None if entry is None else self._read(entry)

    def similar(self, text: str) -> list[str]:
        """The closest of the titles that the file's own search suggests, for the text or for a beginning of it."""
        if not title_key(text) or len(text) > LONGEST_TITLE:
            return []
        beginning = text.strip()
        found = self._suggested(beginning)
        while not found and len(beginning) > 2:
            beginning = beginning[: len(beginning) * 3 // 4]
            found = self._suggested(beginning)
        return closest(text, ((title_key(entry.title), entry.title, -place) for place, entry in enumerate(found)))

    def _titled(self, title: str) -> Entry | None:
        """The article of exactly this title, or with the path that such a title has; its first letter may be small."""
        if one_line(title) != title:
            return None
        for written in dict.fromkeys((title, title[:1].upper() + title[1:])):
            entry = self._entry("title", written) or self._entry("path", written.replace(" ", "_"))
            if entry is not None:
                return entry
        return None

    def _entry(self, kind: str, name: str) -> Entry | None:
        """The article that an entry is or leads to."""
        by_title = kind == "title"
        try:
            entry = self._archive.get_entry_by_title(name) if by_title else self._archive.get_entry_by_path(name)
            return _article(entry)
        except KeyError:
            return None
        except RuntimeError as error:
            raise EnvironmentFailure(f"cannot read {self.path}: {error}") from error

    def _suggested(self, text: str) -> list[Entry]:
        """Articles, and redirects to them, whose titles the file's search has for a text.

        Where the file has no index of its titles, libzim walks those with this beginning, capitals and all.
        """
        words = one_line(text)
        words = words[:1].upper() + words[1:]
        try:
            with self._searching:
                paths = list(self._searcher.suggest(words).getResults(0, _COMPARED)) if words else []
            entries = (self._archive.get_entry_by_path(path) for path in paths)
            return [entry for entry in entries if _article(entry) is not None]
        except (KeyError, RuntimeError) as error:
            raise EnvironmentFailure(f"cannot search {self.path}: {error}") from error

    def _read(self, entry: Entry) -> Page | Ambiguous | None:
        article = _article(entry)
        if article is None:
            return None
        markup = bytes(article.get_item().content).decode("utf-8", "replace")
        body = html.parse(markup)
        texts = () if body is None else tuple(html.paragraphs(body))
        if html.marked_ambiguous(markup) or (texts and html.begins_ambiguous(texts[0])):
            choices = tuple(self._choices(body, article.path))
            if choices:
                return Ambiguous(one_line(article.title), choices)
        return Page(one_line(article.title), texts)

    def _choices(self, body: Any, path: str) -> Iterator[Choice]:
        offered: set[str] = set()
        for link in html.links(body) if body is not None else ():
            address = urlsplit(link.href)
            if address.scheme or address.netloc or not address.path:
                continue
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(address.path)))
            if self._entry("path", target) is None:
                continue
            title = self._archive.get_entry_by_path(target).title
            if title not in offered and not _elsewhere(title):
                offered.add(title)
                yield Choice(one_line(title), link.description)


def _article(entry: Entry) -> Entry | None:
    """The article that an entry is, or to which it redirects; None where that is no article."""
    for _ in range(8):
        if not entry.is_redirect:
            break
        entry = entry.get_redirect_entry()
    is_html = not entry.is_redirect and entry.get_item().mimetype.startswith("text/html")
    return entry if is_html and not _elsewhere(entry.title) else None


def _elsewhere(title: str) -> bool:
    """Whether a title is that of a page in another namespace than the articles'."""
    prefix, colon, _ = title.lstrip(": ").partition(":")
    name = " ".join(prefix.replace("_", " ").lower().split())
    return bool(colon) and (name in _NAMESPACES or name.removesuffix(" talk") in _NAMESPACES)

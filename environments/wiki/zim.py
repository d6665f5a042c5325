"""A wiki as one ZIM file, as Kiwix offers them of Wikipedia (https://library.kiwix.org), read without a network.

Reading an archive is safe for many threads, its search is not (libzim's own rule), so that searches take turns.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Self

from r_eval.environments.base import EnvironmentFailure
from r_eval.files import is_file, user_path

from .base import Page, closest, one_line, title_key
from .html import read_page

if TYPE_CHECKING:
    from libzim.reader import Archive, Entry

_COMPARED = 50
"""Suggestions that are compared with a title."""


class Zim:
    """The articles of one ZIM file.

    Args:
        path: The file; of one in parts, the first part without its last two letters.

    Raises:
        FileNotFoundError, ValueError: The file is missing, or not a ZIM file.
    """

    def __init__(self, path: Path) -> None:
        from libzim.reader import Archive
        from libzim.suggestion import SuggestionSearcher

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

    def find(self, title: str) -> Page | None:
        """The article with this title, or to which it redirects; or the pages that may be meant."""
        if not (key := title_key(title)):
            return None
        article = self._titled(" ".join(title.replace("_", " ").split()))
        if article is None:
            same = {near.path: near for near in self._suggested(title) if title_key(near.title) == key}
            article = _article(same.popitem()[1]) if len(same) == 1 else None
        return article and read_page(one_line(article.title), bytes(article.get_item().content))

    def similar(self, text: str) -> list[str]:
        """The closest of the titles that the file's own search suggests, for the text or for the first half of it."""
        if not title_key(text):
            return []
        found = self._suggested(text) or self._suggested(text.strip()[: len(text) // 2])
        return closest(text, [entry.title for entry in found])

    def _titled(self, title: str) -> Entry | None:
        """The article of exactly this title, or with the path that such a title has; its first letter may be small."""
        if one_line(title) != title:
            return None
        for written in dict.fromkeys((title, title[:1].upper() + title[1:])):
            ways = (
                (self._archive.get_entry_by_title, written),
                (self._archive.get_entry_by_path, written.replace(" ", "_")),
            )
            for read, name in ways:
                try:
                    if article := _article(read(name)):
                        return article
                except KeyError:
                    continue
                except RuntimeError as error:
                    raise EnvironmentFailure(f"cannot read {self.path}: {error}") from error
        return None

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


def _article(entry: Entry) -> Entry | None:
    """The article that an entry is, or to which it redirects; None where that is no article."""
    for _ in range(8):
        if not entry.is_redirect:
            break
        entry = entry.get_redirect_entry()
    return None if entry.is_redirect or not entry.get_item().mimetype.startswith("text/html") else entry

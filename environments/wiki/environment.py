"""The Wiki environment: its query APIs, and the records from which question templates are filled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from r_eval.environments.base import OWN_TIMEOUT, Environment, NotFound, query_api

from .folding import plain, shown
from .sources.base import LONGEST_TITLE, Ambiguous, Choice, Source
from .store import Store, opened

SNAPSHOT = Path(__file__).parent / "snapshot" / "pages.jsonl"
_HEADING = re.compile(r"(={2,6}) .* \1")
_SETTINGS = {
    "pages": "snapshot",
    "zim": "zim",
    "language": "live",
    "api_url": "live",
    "cache": "live",
    "requests_per_second": "live",
    "user_agent": "live",
}
"""Every setting, and the source that it belongs to."""
_ELSEWHERE = """An encyclopedia such as Wikipedia: articles on people, places, things, works, events and ideas. A page
is found by its title; Search shows its first paragraph, Lookup finds more in it."""
"""What a model is told of a wiki that is not the embedded one."""


class Wiki(Environment):
    """A wiki of short articles on countries, cities, rivers, languages, chemical elements, scientists, writers, books,
    directors, films, and the concepts under which these fall. A page is found by its title; Search shows its first
    paragraph, Lookup finds more in it.
    """

    timeout = OWN_TIMEOUT

    def __init__(
        self,
        pages: str | None = None,
        *,
        source: Literal["snapshot", "live", "zim"] = "snapshot",
        zim: str | None = None,
        language: str | None = None,
        api_url: str | None = None,
        cache: str | None = None,
        requests_per_second: float | None = None,
        user_agent: str | None = None,
    ) -> None:
        """Open a source of pages; by default, the embedded pages.

        Args:
            pages: Pages of your own: a JSON Lines file of `title` and `text` (see `pages`); absent: the embedded ones.
            source: Where the pages are: in such a file, in a MediaWiki that is asked over HTTP, in a ZIM file.
            zim: The ZIM file.
            language: The Wikipedia that is asked, by the code in its address; absent: "en".
            api_url: The `api.php` of another MediaWiki, instead.
            cache: The file that keeps what a MediaWiki answered; absent: one in the user's cache folder.
            requests_per_second: How often a MediaWiki is asked at most, by all sessions together; absent: 5.
            user_agent: How requests name their sender; it should say how to reach you.

        Raises:
            FileNotFoundError, ValueError: A file is missing or not what it should be, or a setting does not fit.
            MissingExtra: The source needs a library that is not installed.
        """
        settings = {
            "pages": pages,
            "zim": zim,
            "language": language,
            "api_url": api_url,
            "cache": cache,
            "requests_per_second": requests_per_second,
            "user_agent": user_agent,
        }
        self._source = _opened(source, {name: value for name, value in settings.items() if value is not None})
        if source != "snapshot" or pages is not None:
            self.__doc__ = _ELSEWHERE
        self._title, self._paragraphs = "", ()
        self._keyword, self._results, self._shown = "", (), 0

    _title: str
    """The page that Lookup reads; empty where there is none."""
    _paragraphs: tuple[str, ...]
    _keyword: str
    _results: tuple[str, ...]
    _shown: int
    """How many of the results for the keyword have been shown."""

    @property
    def version(self) -> str:
        """That of the source: the hash of the file of pages, the ZIM file's identity, or the MediaWiki's address."""
        return self._source.version

    @query_api
    def Search(self, entity: str) -> str:
        """Find the page with this title and show its first paragraph; if there is none, suggest similar titles.

        Args:
            entity: The title of a page: the name of a person, a place, a thing or a work.
        """
        self._stand_on("", ())
        if not entity.strip():
            raise NotFound("Could not find []. Search needs the title of a page.")
        found = self._source.find(entity) if len(entity) <= LONGEST_TITLE else None
        if isinstance(found, Ambiguous):
            return "\n".join([f"{found.name} may refer to:", *(_line(choice) for choice in found.choices)])
        if found is not None:
            self._stand_on(found.title, found.paragraphs)
            return self._paragraphs[0] if self._paragraphs else f"The page {found.title} has no text."
        similar = ", ".join(self._source.similar(entity)) if len(entity) <= LONGEST_TITLE else ""
        hint = f" Similar: [{similar}]" if similar else " No title is similar."
        raise NotFound(f"Could not find [{shown(entity)}].{hint}")

    @query_api
    def Lookup(self, keyword: str) -> str:
        """Show the next paragraph that contains the keyword, in the page last found by Search.

        Args:
            keyword: A word or phrase as it may stand in the page.
        """
        if not self._title:
            raise NotFound("There is no page to look in. Search for a page first.")
        wanted = plain(keyword[:LONGEST_TITLE])
        if wanted != self._keyword:
            fits = bool(wanted) and len(keyword) <= LONGEST_TITLE
            self._results = tuple(text for text in self._paragraphs if fits and wanted in plain(text))
            self._keyword, self._shown = wanted, 0
        if not self._results:
            raise NotFound(f"No results for [{shown(keyword)}] in the page {self._title}.")
        if self._shown == len(self._results):
            raise NotFound(f"No more results for [{shown(keyword)}] in the page {self._title}.")
        self._shown += 1
        return f"(Result {self._shown} / {len(self._results)}) {self._results[self._shown - 1]}"

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All pages of a kind, the most popular first; only a file of pages has kinds.

        Each has `title`, `popularity` (how many triples name the page, apart from those that say which concepts it
        falls under) and every relation of its kind (see
        `build.phrases`): a text, or None where the page does not say; a list of texts for a relation that may have
        several values.

        Raises:
            KeyError: There are no pages of such a kind.
        """
        if not isinstance(self._source, Store):
            raise KeyError(kind)
        return self._source.records(kind)

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Everything that the pages of a file say, as subject, relation, object, sorted."""
        if isinstance(self._source, Store):
            yield from self._source.triples()

    def _stand_on(self, title: str, paragraphs: tuple[str, ...]) -> None:
        self._title = title
        self._paragraphs = tuple(text for text in paragraphs if not _HEADING.fullmatch(text))
        self._keyword, self._results, self._shown = "", (), 0


def _line(choice: Choice) -> str:
    return f"{choice.title}: {choice.description}" if choice.description else choice.title


def _opened(source: str, settings: dict[str, Any]) -> Source:
    known = dict.fromkeys(_SETTINGS.values())
    if source not in known:
        raise ValueError(f"source: '{source}' is none of {', '.join(known)}")
    for name in settings:
        if _SETTINGS[name] != source:
            raise ValueError(f"{name} is a setting of source: {_SETTINGS[name]}, and the source is {source}")
    if source == "live":
        from .sources.live import Live

        return Live(**settings)
    if source == "zim":
        from .sources.zim import Zim

        if "zim" not in settings:
            raise ValueError("source: zim needs the setting zim, the path of a ZIM file")
        return Zim(Path(settings["zim"]))
    return opened(Path(settings.get("pages") or SNAPSHOT))

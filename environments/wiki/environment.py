"""The Wiki environment: its query APIs, and the records from which question templates are filled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rapidfuzz import fuzz

from r_eval.environments.base import OWN_TIMEOUT, Environment, NotFound, query_api
from r_eval.environments.json_lines import most_similar, plain
from r_eval.errors import MissingExtra
from r_eval.files import user_path

from .base import LONGEST_TITLE, quoted
from .pages import PageFile

if TYPE_CHECKING:
    from .live import LiveWiki
    from .zim import Zim

SNAPSHOT = Path(__file__).parent / "snapshot" / "pages.jsonl"
MOST_RESULTS = 3
"""Paragraphs that one Lookup shows."""
_SIMILAR = 80.0
"""What a paragraph's best part must score of 100 to be similar to a keyword: one wrong letter in five."""
_SHORTEST, _LONGEST = 5, 64
"""Characters of keywords for which similar text is looked for."""
_HEADING = re.compile(r"(={2,6}) .* \1")
_SETTINGS = {
    "snapshot": ("pages",),
    "zim": ("zim",),
    "live": ("language", "api_url", "cache", "requests_per_second", "user_agent"),
}
"""Every source, and the settings that belong to it."""
_ELSEWHERE = """An encyclopedia such as Wikipedia: articles on people, places, things, works, events and ideas. A page
is found by its title; Search shows its first paragraph, Lookup finds more in it."""
"""The description of a wiki that is not the embedded one."""


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
            FileNotFoundError, UserError: A file is missing or not what it should be, or a setting does not fit.
            MissingExtra: The source needs a library that is not installed.
        """
        live = {"language": language, "api_url": api_url, "cache": cache, "user_agent": user_agent}
        settings = {"pages": pages, "zim": zim, "requests_per_second": requests_per_second} | live
        self._source = _open(source, {name: value for name, value in settings.items() if value is not None})
        if source != "snapshot" or pages is not None:
            self.__doc__ = _ELSEWHERE
        self._set_page("", ())

    _keyword: str
    _results: list[str]
    _exact: bool
    """Whether the results contain the keyword."""
    _first: int
    """How many of the results have been shown."""

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
        self._set_page("", ())
        if not entity.strip():
            raise NotFound("Could not find []. Search needs the title of a page.")
        fits = len(entity) <= LONGEST_TITLE
        found = self._source.find(entity) if fits else None
        if found is not None and found.is_ambiguous:
            return "\n".join(text for text in found.paragraphs if not _HEADING.fullmatch(text))
        if found is not None:
            self._set_page(found.title, found.paragraphs)
            return self._paragraphs[0] if self._paragraphs else f"The page {found.title} has no text."
        similar = ", ".join(self._source.similar(entity)) if fits else ""
        hint = f" Similar: [{similar}]" if similar else " No title is similar."
        raise NotFound(f"Could not find [{quoted(entity)}].{hint}")

    @query_api
    def Lookup(self, keyword: str) -> str:
        """Show up to 3 paragraphs that contain the keyword, or words spelled like it, in the page last found by Search;
        the same keyword again shows the next ones.

        Args:
            keyword: A word or phrase that may occur in the page.
        """
        if not self._title:
            raise NotFound("There is no page to look in. Search for a page first.")
        wanted = plain(keyword[: LONGEST_TITLE + 1])
        if wanted != self._keyword:
            self._keyword, self._first = wanted, 0
            self._results, self._exact = self._paragraphs_with(wanted)
        results = self._results[self._first : self._first + MOST_RESULTS]
        if not results:
            none = "No more results" if self._results else "No results"
            raise NotFound(f"{none} for [{quoted(keyword)}] in the page {self._title}.")
        lines = [] if self._exact else [f"No paragraph contains [{quoted(keyword)}]; similar:"]
        total = len(self._results)
        lines += [f"(Result {number} / {total}) {text}" for number, text in enumerate(results, self._first + 1)]
        self._first += MOST_RESULTS
        return "\n".join(lines)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """All pages of a kind, the most popular first; only a file of pages has kinds.

        Each has `title`, `name`, `popularity` (in the embedded file, the name's Zipf frequency in English text, times
        100) and every relation of its kind: a text, or None where the page does not say; a
        list of texts for a relation that may have several values.

        Raises:
            KeyError: There are no pages of such a kind.
        """
        if not isinstance(self._source, PageFile):
            raise KeyError(kind)
        return self._source.records(kind)

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Everything that the pages of a file say, as subject, relation, object, sorted."""
        if isinstance(self._source, PageFile):
            yield from self._source.triples()

    def _set_page(self, title: str, paragraphs: tuple[str, ...]) -> None:
        """Make a page the one that Lookup reads, from its start; "" for none."""
        self._title = title
        self._paragraphs = tuple(text for text in paragraphs if not _HEADING.fullmatch(text))
        self._keyword, self._results = "", []
        self._first, self._exact = 0, True

    def _paragraphs_with(self, keyword: str) -> tuple[list[str], bool]:
        """The paragraphs that contain a folded keyword, or else those with similar words; whether it is the former."""
        if not keyword or len(keyword) > LONGEST_TITLE:
            return [], True
        folded = [plain(text) for text in self._paragraphs]
        found = [text for text, own in zip(self._paragraphs, folded, strict=True) if keyword in own]
        # A number with another digit is another number, not a spelling of the same.
        if found or not _SHORTEST <= len(keyword) <= _LONGEST or any(char.isdigit() for char in keyword):
            return found, True
        similar = most_similar(keyword, folded, fuzz.partial_ratio, _SIMILAR, 2 * MOST_RESULTS)
        return [self._paragraphs[place] for _, place in similar], False


def _open(source: str, settings: dict[str, Any]) -> PageFile | LiveWiki | Zim:
    for name in settings:
        if name not in _SETTINGS[source]:
            owner = next(each for each, names in _SETTINGS.items() if name in names)
            raise ValueError(f"{name} is a setting of source: {owner}, and the source is {source}")
    if source == "snapshot":
        return PageFile.open(user_path(settings.get("pages") or SNAPSHOT))
    if source == "zim" and "zim" not in settings:
        raise ValueError("source: zim needs the setting zim, the path of a ZIM file")
    try:
        import lxml.html  # noqa: F401  pages are read by it later

        from .live import LiveWiki
        from .zim import Zim

        return LiveWiki(**settings) if source == "live" else Zim(Path(settings["zim"]))
    except ImportError as error:
        package, extra = str(error.name).partition(".")[0], "zim" if source == "zim" else "wiki"
        raise MissingExtra(package, extra, f"A wiki with source: {source}") from None

"""A MediaWiki as it is now, such as Wikipedia: pages by their titles, as plain text.

The texts come from the TextExtracts extension, or from the rendered page where a wiki has none. Suggestions of the
wiki's search are only shown, never followed: a page is opened because its title was asked for, case and punctuation
aside (see `base`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from r_eval.environments.json_api import USER_AGENT, JsonApi

from .base import LONGEST_TITLE, MOST_SIMILAR, Page, begins_ambiguous, closest, one_line, title_key
from .html import read_page

LONGEST_TITLE_BYTES = 255
_NEVER_IN_TITLES = frozenset("#<>[]|{}")
"""MediaWiki would read them as its own syntax: C# as the page C."""
_LANGUAGE = re.compile(r"[a-z][a-z0-9-]{1,19}")
_BEGINNING = 50
"""Titles with the same beginning that are compared with one that was not found."""


class LiveWiki:
    """Articles of one MediaWiki; other namespaces (talk, files, special pages) are never opened.

    Args:
        language: The Wikipedia of this language, by the code in its address; absent: "en".
        api_url: The `api.php` of another MediaWiki, instead.
        cache, requests_per_second, user_agent: See `json_api.JsonApi`.

    Raises:
        ValueError, UserError: A setting does not fit.
        MissingExtra: A library is not installed.
    """

    def __init__(
        self,
        language: str | None = None,
        api_url: str | None = None,
        cache: str | None = None,
        requests_per_second: float = 5.0,
        user_agent: str = USER_AGENT,
    ) -> None:
        if language is not None and api_url is not None:
            raise ValueError("language chooses a Wikipedia and api_url another wiki: give one of them")
        if not _LANGUAGE.fullmatch(language or "en"):
            raise ValueError(f"language: '{language}' is not a code in Wikipedia's addresses, such as en or zh-yue")
        address = api_url or f"https://{language or 'en'}.wikipedia.org/w/api.php"
        self._api = JsonApi("wiki", address, _is_answer, cache, requests_per_second, user_agent=user_agent)
        self.version = self._api.version

    def find(self, title: str) -> Page | None:
        """The article with this title, or to which it redirects; or the pages that may be meant."""
        wanted = title.replace("_", " ")
        if _is_title(wanted) and (found := self._titled(one_line(wanted))):
            return found
        key = title_key(title)
        same = {near for near in self._near(title) if title_key(near) == key} if key else set()
        return self._titled(same.pop()) if len(same) == 1 else None

    def similar(self, text: str) -> list[str]:
        """What the wiki's search offers; failing that, the closest of the titles with the same beginning."""
        near = self._near(text)
        beginning = _searchable(text)
        head = beginning[: max(3, len(beginning) // 2)]
        if near or len(head) < 3:
            return near[:MOST_SIMILAR]
        return closest(
            text, _titles(self._query(list="prefixsearch", pssearch=head, pslimit=_BEGINNING).get("prefixsearch", []))
        )

    def _titled(self, title: str) -> Page | None:
        pages = self._query(
            titles=title,
            redirects=1,
            prop="extracts|pageprops",
            explaintext=1,
            exlimit=1,
            exsectionformat="wiki",
            ppprop="disambiguation",
        ).get("pages", [])
        if len(pages) != 1 or pages[0].get("ns") != 0 or not {"missing", "invalid"}.isdisjoint(pages[0]):
            return None
        page: dict[str, Any] = pages[0]
        if page.get("extract") is None:
            options = {"disableeditsection": 1, "disabletoc": 1, "disablelimitreport": 1}
            markup = self._ask(action="parse", page=page["title"], prop="text", **options)["parse"]["text"]
            texts = read_page(page["title"], markup).paragraphs
        else:
            texts = tuple(filter(None, map(one_line, page["extract"].split("\n"))))
        is_ambiguous = "disambiguation" in page.get("pageprops", {}) or begins_ambiguous(texts)
        return Page(page["title"], texts, is_ambiguous)

    def _near(self, text: str) -> list[str]:
        """Titles that the wiki's search has for a text: its first choice, those with its beginning or its words."""
        beginning = _searchable(text)
        words = " ".join(re.findall(r"\w+", beginning))
        if not words:
            return []
        found = self._query(
            generator="search",
            gsrwhat="nearmatch",
            gsrsearch=beginning,
            list="prefixsearch|search",
            pssearch=beginning,
            pslimit=MOST_SIMILAR,
            srsearch=words.lower(),  # no operator is written in small letters
            srlimit=MOST_SIMILAR,
            srprop="",
            srinfo="",
        )
        return _titles(entry for part in ("pages", "prefixsearch", "search") for entry in found.get(part, []))

    def _query(self, **parameters: str | int) -> dict[str, Any]:
        found: dict[str, Any] = self._ask(action="query", **parameters).get("query", {})
        return found

    def _ask(self, **parameters: Any) -> dict[str, Any]:
        answer = self._api.ask(**parameters, format="json", formatversion=2)
        if "error" in answer:
            error = answer["error"] if isinstance(answer["error"], dict) else {}
            raise self._api.failure("", f"refused: {error.get('code')}: {str(error.get('info'))[:200]}")
        if not _is_answer(answer):
            raise self._api.failure("", "is not MediaWiki's API; is it an api.php?")
        return answer


def _is_answer(answer: dict[str, Any]) -> bool:
    found = isinstance(answer.get("query", answer.get("parse")), dict) or answer.get("batchcomplete") is True
    return "error" not in answer and found


def _is_title(text: str) -> bool:
    whole = " ".join(text.split())
    fits = 0 < len(whole.encode("utf-8", "replace")) <= LONGEST_TITLE_BYTES
    return fits and one_line(text) == whole and _NEVER_IN_TITLES.isdisjoint(text)


def _searchable(text: str) -> str:
    """A text without what a title could not hold, and without the colons of namespaces and of other wikis, over which
    searches stumble.
    """
    return one_line("".join(" " if char in "_:" or char in _NEVER_IN_TITLES else char for char in text[:LONGEST_TITLE]))


def _titles(entries: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(entry["title"] for entry in entries if entry["ns"] == 0))

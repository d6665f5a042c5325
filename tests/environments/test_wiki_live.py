"""A live wiki whose answers are odd, busy or none, and libraries that are not there.

What a wiki that works must do is in `tests/contracts/test_wiki_sources.py`, how failures are retried in
`test_aminer_live.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web

from r_eval.environments.base import EnvironmentFailure, NotFound
from r_eval.environments.wiki import Wiki
from r_eval.errors import MissingExtra
from tests.serving import Scripted, serving

pytest.importorskip("requests_cache", reason="a live wiki needs requests-cache (extra wiki)")

KENYA = {"query": {"pages": [{"ns": 0, "title": "Kenya", "extract": "Kenya is a country.\n\n\n== Food ==\nTea."}]}}
LAG = {"error": {"code": "maxlag", "info": "Waiting for a database server"}}


@contextmanager
def asking(*answers: Any, **settings: Any) -> Iterator[tuple[Wiki, Scripted]]:
    """A wiki over these answers, after which every one is KENYA."""
    server = Scripted(*answers, KENYA)
    with serving(server.app) as address:
        yield Wiki(source="live", api_url=f"{address}/api.php", **({"requests_per_second": 1000} | settings)), server


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (LAG, "refused: maxlag: Waiting for a database server"),
        ({"query": []}, "is it an api.php?"),
        (web.Response(text="<html>Welcome to the hotel</html>"), "not a JSON object"),
        (web.Response(status=403), "answered 403"),
    ],
)
def test_a_refusal_is_a_failure_of_the_environment_and_not_kept(answer: Any, message: str) -> None:
    with asking(answer) as (wiki, server):
        with pytest.raises(EnvironmentFailure, match=re.escape(message)):
            wiki.Search("Kenya")
        assert len(server.requests) == 1
        assert wiki.Search("Kenya") == "Kenya is a country."


def test_the_rate_holds_over_all_threads() -> None:
    with asking(requests_per_second=20) as (wiki, server), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: wiki.open().Search(f"Page {number}"), range(50)))
    moments = sorted(moment for moment, _ in server.requests)
    assert len(moments) == 50
    assert moments[-1] - moments[0] >= 1.9


@pytest.mark.parametrize(
    "page",
    [
        {"ns": 0, "title": "Kenia", "missing": True},
        {"title": "Kenia", "invalid": True, "invalidreason": "?"},
        {"ns": -1, "title": "Special:Random", "special": True},
        {"ns": 1, "title": "Talk:Kenya", "extract": "Shall we?"},
    ],
)
def test_only_an_article_is_opened(page: dict[str, Any]) -> None:
    nothing = {"query": {"search": [], "prefixsearch": []}}
    none = pytest.raises(NotFound, match="No title is similar")
    with asking({"query": {"pages": [page]}}, nothing, nothing) as (wiki, _), none:
        wiki.Search("Kenia")


@pytest.mark.parametrize(
    ("library", "settings", "extra"),
    [
        ("libzim.reader", {"source": "zim", "zim": "wiki.zim"}, "zim"),
        ("requests_cache", {"source": "live"}, "wiki"),
        ("lxml.html", {"source": "live"}, "wiki"),
    ],
)
def test_a_missing_library_is_named_at_once(
    library: str, settings: dict[str, Any], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'r-eval\[{extra}\]'"):
        Wiki(**settings)

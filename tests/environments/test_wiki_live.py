"""A live wiki that is slow, busy, broken or away: asked again within bounds, politely, and never remembered.

What a wiki that works must do is in `tests/contracts/test_wiki_sources.py`.
"""

from __future__ import annotations

import json
import pickle
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from r_eval.environments.base import EnvironmentFailure, NotFound
from r_eval.environments.wiki import Wiki
from r_eval.environments.wiki.sources.replies import Replies, default_path
from r_eval.errors import MissingExtra

pytest.importorskip("requests", reason="a live wiki needs requests")

from r_eval.environments.wiki.sources.mediawiki import LONGEST_WAIT, MediaWiki, Pace

KENYA = {"query": {"pages": [{"ns": 0, "title": "Kenya", "extract": "Kenya is a country.\n\n\n== Food ==\nTea."}]}}
OTHER_HOST = "http://127.0.0.1:9/api.php"


class Server:
    """A wiki that answers with what is left in `answers`, and then with `default`.

    An answer is (status, headers, body), or seconds of silence.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.default: Any = KENYA
        self.asked: list[tuple[float, dict[str, list[str]], dict[str, str]]] = []
        self.address = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        query = parse_qs(urlsplit(handler.path).query)
        self.asked.append((time.monotonic(), query, dict(handler.headers)))
        answer = self.answers.pop(0) if self.answers else self.default
        if isinstance(answer, float):
            time.sleep(answer)
            return
        status, headers, body = answer if isinstance(answer, tuple) else (200, {}, answer)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


@contextmanager
def listening(server: Server) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, format: str, *args: Any) -> None: ...

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.address = f"http://127.0.0.1:{listener.server_port}/api.php"
    threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield
    finally:
        listener.shutdown()
        listener.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()
    with listening(served):
        yield served


@pytest.fixture
def replies(tmp_path: Path) -> Replies:
    return Replies(tmp_path / "wiki" / "replies.sqlite")


@pytest.fixture
def ask(server: Server, replies: Replies) -> Callable[[], dict[str, Any]]:
    """One question to the server, asked three times at most."""
    wiki = MediaWiki(server.address, replies, Pace(1000), timeout=1.0, attempts=3, backoff=0.01)
    return lambda: wiki.ask(action="query", titles="Kenya")


def failure(call: Callable[[], Any]) -> str:
    with pytest.raises(EnvironmentFailure) as caught:
        call()
    return str(caught.value)


# Failures

PASSING = {
    "429": (429, {}, b"slow down"),
    "500": (500, {}, b"<html>"),
    "503": (503, {"Retry-After": "0"}, b""),
    "silence": 1.5,
    "maxlag": {"error": {"code": "maxlag", "info": "Waiting for a database server"}},
    "database": {"error": {"code": "internal_api_error_DBQueryError", "info": "[x] Caught exception"}},
    "cut off": (200, {"Content-Length": "100"}, b'{"query"'),
}


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_what_passes_is_waited_for(server: Server, ask: Callable[[], Any], answer: Any) -> None:
    server.answers = [answer, answer]
    assert ask() == KENYA
    assert len(server.asked) == 3


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_what_does_not_pass_is_a_failure_after_the_last_attempt(
    server: Server, ask: Callable[[], Any], answer: Any
) -> None:
    server.default = answer
    assert failure(ask).startswith(f"the wiki at {server.address} ")
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, {}, b"no such page"), "refused with status 404"),
        ((403, {}, b"name yourself"), "refused with status 403"),
        ((200, {}, b"<html>Welcome to the hotel</html>"), "is it an api.php?"),
        ((200, {}, b"[]"), "is it an api.php?"),
        ({"error": {"code": "badvalue", "info": "Unrecognized"}}, "refused: badvalue: Unrecognized"),
        ({"error": "no"}, "refused"),
        ((302, {"Location": "ftp://127.0.0.1/"}, b""), "refused with status 302"),
    ],
)
def test_a_refusal_is_final(server: Server, ask: Callable[[], Any], answer: Any, message: str) -> None:
    server.default = answer
    assert message in failure(ask)
    assert len(server.asked) == 1


def test_a_server_that_is_away_is_a_failure(replies: Replies) -> None:
    wiki = MediaWiki(OTHER_HOST, replies, Pace(1000), timeout=0.3, attempts=3, backoff=0.01)
    assert failure(lambda: wiki.ask(action="query")) == f"the wiki at {OTHER_HOST} cannot be reached: ConnectionError"


def test_a_failure_is_not_kept(server: Server, ask: Callable[[], Any]) -> None:
    server.default = (500, {}, b"")
    failure(ask)
    server.default = KENYA
    assert ask() == KENYA


def test_a_failure_leaves_search_as_one(server: Server, tmp_path: Path) -> None:
    server.default = (404, {}, b"")
    wiki = Wiki(source="live", api_url=server.address, cache=str(tmp_path / "replies.sqlite"))
    assert "refused with status 404" in failure(lambda: wiki.Search("Kenya"))


# Politeness


LATER = format_datetime(datetime.now(UTC) + timedelta(hours=2))


@pytest.mark.parametrize("written", ["1", LATER], ids=["seconds", "date"])
def test_a_busy_wiki_says_when_to_come_back(server: Server, ask: Callable[[], Any], written: str) -> None:
    server.answers = [(429, {"Retry-After": written}, b"")]
    if written == "1":
        assert ask() == KENYA
        assert server.asked[1][0] - server.asked[0][0] >= 1
    else:
        assert re.search(r"asks to wait for \d{4} seconds", failure(ask))
        assert len(server.asked) == 1


def test_nobody_asks_while_the_wiki_wants_a_pause(server: Server, replies: Replies) -> None:
    wiki = MediaWiki(server.address, replies, Pace(1000), attempts=3, backoff=0.01)
    server.answers = [(429, {"Retry-After": "1"}, b"")]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(wiki.ask, titles="Kenya")
        time.sleep(0.3)
        second = pool.submit(wiki.ask, titles="Uganda")
        assert first.result() == second.result() == KENYA
    start = server.asked[0][0]
    assert [moment - start >= 1 for moment, _, _ in server.asked] == [False, True, True]


def test_no_more_is_waited_than_an_episode_can(server: Server, ask: Callable[[], Any]) -> None:
    server.default = (503, {"Retry-After": str(int(LONGEST_WAIT) + 1)}, b"")
    assert "asks to wait for 61 seconds" in failure(ask)


def test_the_rate_is_kept_over_all_threads(server: Server, tmp_path: Path) -> None:
    wiki = Wiki(source="live", api_url=server.address, cache=str(tmp_path / "replies.sqlite"), requests_per_second=20)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: wiki.open().Search(f"Page {number}"), range(12)))
    moments = sorted(moment for moment, _, _ in server.asked)
    assert len(moments) == 12
    assert moments[-1] - moments[0] >= 11 / 20 - 0.05


def test_the_sender_is_named(server: Server, tmp_path: Path) -> None:
    for number, named in enumerate([{}, {"user_agent": "tea-study/1.0 (tea@example.org)"}]):
        cache = str(tmp_path / f"{number}.sqlite")
        Wiki(source="live", api_url=server.address, cache=cache, **named).Search("Kenya")  # type: ignore[arg-type]
    assert server.asked[0][2]["User-Agent"].startswith("r-eval/")
    assert server.asked[1][2]["User-Agent"] == "tea-study/1.0 (tea@example.org)"


# Pages


@pytest.fixture
def wiki(server: Server, tmp_path: Path) -> Wiki:
    cache = str(tmp_path / "replies.sqlite")
    return Wiki(source="live", api_url=server.address, cache=cache, requests_per_second=1000)


@pytest.mark.parametrize(
    "page",
    [
        {"ns": 0, "title": "Kenia", "missing": True},
        {"title": "Kenia", "invalid": True, "invalidreason": "?"},
        {"ns": -1, "title": "Special:Random", "special": True},
        {"ns": 1, "title": "Talk:Kenya", "extract": "Shall we?"},
    ],
)
def test_only_an_article_is_opened(server: Server, wiki: Wiki, page: dict[str, Any]) -> None:
    server.answers = [{"query": {"pages": [page]}}]
    server.default = {"query": {"search": [], "prefixsearch": []}}
    with pytest.raises(NotFound, match="No title is similar"):
        wiki.Search("Kenia")


def test_of_two_pages_that_differ_in_accents_none_is_opened(server: Server, wiki: Wiki) -> None:
    near = [{"ns": 0, "title": "Café"}, {"ns": 0, "title": "Cafe"}, {"ns": 4, "title": "Wikipedia:Cafe"}]
    missing = {"query": {"pages": [{"ns": 0, "title": "CAFE", "missing": True}]}}
    server.answers = [missing, {"query": {"search": near}}]
    with pytest.raises(NotFound, match=r"Similar: \[Café, Cafe\]"):
        wiki.Search("CAFE")


def test_a_page_without_text_says_so(server: Server, wiki: Wiki) -> None:
    server.default = {"query": {"pages": [{"ns": 0, "title": "Kenya", "extract": ""}]}}
    assert wiki.Search("Kenya") == "The page Kenya has no text."


# What is kept


def test_the_first_reply_kept_is_everybodys(replies: Replies) -> None:
    assert replies.keep("a", b"one") == b"one"
    assert replies.keep("a", b"two") == b"one"
    assert Replies(replies.path).get("a") == b"one"


def test_wikis_do_not_share_replies(server: Server, replies: Replies) -> None:
    other = Server()
    other.default = {"query": {}}
    with listening(other):
        answers = [MediaWiki(one.address, replies, Pace(1000)).ask(titles="Kenya") for one in (server, other)]
    assert answers == [KENYA, {"query": {}}]


def test_many_processes_may_open_one_new_file(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with ThreadPoolExecutor(16) as pool:  # every one has a connection of its own, as a process has
        every = list(pool.map(lambda number: Replies(path).keep(str(number % 4), b"%d" % (number % 4)), range(64)))
    assert every == [b"%d" % (number % 4) for number in range(64)]


@pytest.mark.parametrize("content", [b"not a database, but long enough to look like one" * 30, None])
def test_another_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "other.sqlite"
    if content is not None:
        path.write_bytes(content)
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE pages (title)")
            connection.commit()
    with pytest.raises(ValueError, match=r"cannot keep the wiki's replies in .*other\.sqlite"):
        Replies(path)


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="cannot keep the wiki's replies"):
        Wiki(source="live", cache=str(tmp_path / "file" / "replies.sqlite"))


def test_replies_go_to_the_cache_folder_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path))
    assert default_path() == tmp_path / "wiki" / "replies.sqlite"


# Settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source": "dump"}, "source: 'dump' is none of snapshot, zim, live"),
        ({"language": "de"}, "language is a setting of source: live, and the source is snapshot"),
        ({"zim": "wiki.zim"}, "zim is a setting of source: zim, and the source is snapshot"),
        ({"source": "live", "pages": "pages.jsonl"}, "pages is a setting of source: snapshot"),
        ({"source": "zim"}, "source: zim needs the setting zim"),
        ({"source": "live", "language": "de", "api_url": OTHER_HOST}, "give one of them"),
        ({"source": "live", "language": "evil.example/"}, "language: 'evil.example/' is not a code"),
        ({"source": "live", "api_url": "wiki.example"}, "'wiki.example' is not the address of an api.php"),
        ({"source": "live", "api_url": "file:///etc/passwd"}, "is not the address of an api.php"),
        ({"source": "live", "api_url": "http://a/api.php?x=1"}, "is not the address of an api.php"),
        ({"source": "live", "requests_per_second": 0}, "requests_per_second: 0 is not more than 0"),
        ({"source": "live", "user_agent": "me\r\nX: y"}, "user_agent"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Wiki(**settings)


@pytest.mark.parametrize(
    ("library", "settings", "extra"),
    [
        ("libzim.reader", {"source": "zim", "zim": "wiki.zim"}, "zim"),
        ("requests", {"source": "live"}, "wiki"),
        ("lxml.html", {"source": "live"}, "wiki"),
    ],
)
def test_a_missing_library_is_named_at_once(
    library: str, settings: dict[str, Any], extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'r-eval\[{extra}\]'"):
        Wiki(**settings)


def test_a_missing_zim_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("libzim", reason="ZIM files need libzim")
    with pytest.raises(FileNotFoundError, match="there is no ZIM file at"):
        Wiki(source="zim", zim=str(tmp_path / "none.zim"))


def test_two_wikis_have_two_versions(tmp_path: Path) -> None:
    cache = str(tmp_path / "replies.sqlite")
    versions = {Wiki(source="live", cache=cache, language=code).version for code in ("en", "de")}
    assert len({*versions, Wiki(source="live", cache=cache, api_url=OTHER_HOST).version, Wiki().version}) == 4


def test_a_live_wiki_is_pickled_as_its_settings(server: Server, wiki: Wiki) -> None:
    again: Wiki = pickle.loads(pickle.dumps(wiki))
    assert again.Search("Kenya") == "Kenya is a country."
    assert again.version == wiki.version


def test_only_a_snapshot_has_records(wiki: Wiki) -> None:
    assert list(wiki.triples()) == []
    with pytest.raises(KeyError):
        wiki.records("country")


def test_the_description_is_that_of_the_source(wiki: Wiki) -> None:
    assert "chemical elements" in (Wiki().__doc__ or "")
    assert "such as Wikipedia" in (wiki.open().__doc__ or "")

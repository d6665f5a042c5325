"""examples/domains/wikipedia, as anyone would bring a client library, against a real MediaWiki."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import CallResult, Session
from tests import mediawiki
from tests.wikis import PAGES

client = pytest.importorskip("wikipedia", reason="the example needs the package wikipedia")

FOLDER = Path(__file__).parents[2] / "examples" / "domains" / "wikipedia"
pytestmark = pytest.mark.filterwarnings("ignore:No parser was explicitly specified")


@pytest.fixture(scope="module")
def session(installed_wiki: mediawiki.MediaWiki) -> Iterator[Session]:
    environment = open_environment(str(FOLDER / "domain.py"))
    with installed_wiki.running() as served, pytest.MonkeyPatch.context() as patched, Sandbox(workers=1) as sandbox:
        patched.setattr("wikipedia.wikipedia.API_URL", served.api_url)
        yield Session(environment, sandbox)


def call(session: Session, api: str, **arguments: str) -> CallResult:
    return asyncio.run(session.call(api, arguments))


def test_an_article_is_found_read_and_looked_through(session: Session) -> None:
    assert "Kenya" in call(session, "search", words="kenya").observation
    assert call(session, "read_introduction", title="Kenya").observation.startswith(PAGES["Kenya"][0])
    found = call(session, "find_in_article", title="Nippon", keyword="TOKYO")
    assert found.observation == "1 result.\nIts capital is Tokyo."


@pytest.mark.parametrize(
    ("api", "arguments", "said"),
    [
        ("read_introduction", {"title": "Kennya"}, "There is no article Kennya. Find its title with search."),
        ("read_introduction", {"title": "Victoria"}, "Victoria may refer to: Victoria (lake), Victoria (queen)"),
        ("find_in_article", {"title": "Kenya", "keyword": "unicorn"}, "No paragraph of Kenya contains unicorn."),
    ],
)
def test_what_is_not_found_says_what_to_do(session: Session, api: str, arguments: dict[str, str], said: str) -> None:
    result = call(session, api, **arguments)
    assert result.error == "not_found"
    assert result.observation.startswith(said)


def test_a_wiki_that_is_away_is_an_infrastructure_failure(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikipedia.wikipedia.API_URL", "http://127.0.0.1:9/api.php")
    with pytest.raises(Exception, match=r"(?i)connection|failed"):
        call(session, "read_introduction", title="Uganda")

"""Every environment does what the contract that users get says.

A new one joins by a class here: how it is opened, and some calls.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from r_eval.environments.aminer import AMiner
from r_eval.environments.base import Environment
from r_eval.environments.opening import open_environment
from r_eval.environments.wiki import Wiki
from r_eval.testing import Call, EnvironmentContract
from tests import mediawiki, shops, wikis
from tests.aminer_server import http_app
from tests.serving import serving

WIKI_ASKED: list[Call] = [
    ("Search", {"entity": "France"}),
    ("Lookup", {"keyword": "the"}),
    ("Search", {"entity": "Marie Curie"}),
    ("Lookup", {"keyword": "born"}),
    ("Search", {"entity": "Mercury"}),
]
WIKI_CALLS: list[Call] = [
    ("Search", {"entity": "Kenya"}),
    ("Lookup", {"keyword": "nairobi"}),
    ("Lookup", {"keyword": "railwey"}),
    ("Search", {"entity": "Land of tea"}),
    ("Search", {"entity": "Mercury"}),
    ("Search", {"entity": "東京"}),
]
WIKI_NOTHING: list[Call] = [
    ("Lookup", {"keyword": "tea"}),
    ("Search", {"entity": "Kennya"}),
    ("Search", {"entity": "Qqqq xyzzy"}),
]

PERSON = AMiner().records("person")[0]
PERSON_ID = {"person_id": PERSON["person_id"]}
PUBLICATION = AMiner().records("publication")[0]
AMINER_CALLS: list[Call] = [
    ("searchPerson", {"name": PERSON["name"]}),
    ("searchPerson", {"organization": PERSON["organization"], "interest": PERSON["interests"][0]}),
    ("searchPublication", {"publication_info": PUBLICATION["title"]}),
    ("getPersonBasicInfo", PERSON_ID),
    ("getPersonInterest", PERSON_ID),
    ("getPersonPubs", PERSON_ID),
    ("getCoauthors", PERSON_ID),
    ("getPublication", {"publication_id": PUBLICATION["pub_id"]}),
]
AMINER_NOTHING: list[Call] = [
    ("searchPerson", {"name": "Nobody Of This Name"}),
    ("searchPerson", {}),
    ("getPersonInterest", {"person_id": "0" * 24}),
    ("getPublication", {"publication_id": "../../etc/passwd"}),
]

SHOP_CALLS: list[Call] = [
    ("find_items", {"word": "pen"}),
    ("find_items", {"word": "p", "limit": 1}),
    ("show_item", {"name": "pen"}),
]
SHOP_NOTHING: list[Call] = [("find_items", {"word": "unicorn"}), ("show_item", {"name": "unicorn"})]


# The embedded ones


class TestEmbeddedWiki(EnvironmentContract):
    calls = WIKI_ASKED
    nothing = [("Lookup", {"keyword": "the"}), ("Search", {"entity": "Frnace"}), ("Search", {"entity": "Qqqq xyzzy"})]
    kinds = ["country", "city", "scientist"]

    def environment(self) -> Environment:
        return Wiki()


class TestEmbeddedAMiner(EnvironmentContract):
    calls = AMINER_CALLS
    nothing = AMINER_NOTHING
    kinds = ["person", "publication", "coauthorship"]

    def environment(self) -> Environment:
        return AMiner()


# The same environments from elsewhere


class TestZimFile(EnvironmentContract):
    calls = WIKI_CALLS
    nothing = WIKI_NOTHING

    @pytest.fixture(scope="class")
    @classmethod
    def environment(cls, tmp_path_factory: pytest.TempPathFactory) -> Environment:
        return wikis.zim(tmp_path_factory.mktemp("zim"))


class TestLiveMediaWiki(EnvironmentContract):
    calls = WIKI_CALLS
    nothing = WIKI_NOTHING

    @pytest.fixture(scope="class")
    @classmethod
    def served(cls, installed_wiki: mediawiki.MediaWiki) -> Iterator[mediawiki.Served]:
        with installed_wiki.running() as served:
            yield served

    @pytest.fixture
    def environment(self, served: mediawiki.Served, tmp_path: Path) -> Environment:
        return wikis.live(served, tmp_path / "replies.sqlite")


class TestAMinerOverHTTP(EnvironmentContract):
    calls = AMINER_CALLS
    nothing = AMINER_NOTHING

    @pytest.fixture(scope="class")
    @classmethod
    def address(cls) -> Iterator[str]:
        pytest.importorskip("requests", reason="a live AMiner needs requests")
        with serving(http_app(AMiner())) as address:
            yield address

    @pytest.fixture(scope="class")
    @classmethod
    def environment(cls, address: str) -> Environment:
        return AMiner(source="live", base_url=address)


# Those that are no classes


class OpenedByName(EnvironmentContract):
    """For environments with a name, as a grid has it."""

    settings: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(scope="class")
    @classmethod
    def name(cls) -> str:
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def environment(cls, name: str) -> Environment:
        return open_environment(name, cls.settings)


class TestMCPServer(OpenedByName):
    calls = SHOP_CALLS
    nothing = SHOP_NOTHING
    allowed = ["has no description"]
    settings = {"shared": True}  # a process a session, see tests/environments/test_mcp.py, takes long for so many

    @pytest.fixture(scope="class")
    @classmethod
    def name(cls, tmp_path_factory: pytest.TempPathFactory) -> str:
        pytest.importorskip("mcp", reason="the MCP SDK is not installed (pip install mcp)")
        path = tmp_path_factory.mktemp("mcp") / "shop.py"
        path.write_text(shops.MCP, encoding="utf-8")
        return f"mcp:{shlex.join([sys.executable, str(path)])}"


class TestOpenAPIServer(OpenedByName):
    calls = SHOP_CALLS
    nothing = SHOP_NOTHING

    @pytest.fixture(scope="class")
    @classmethod
    def name(cls) -> Iterator[str]:
        with serving(shops.http_app()) as address:
            yield f"openapi:{address}/openapi.json"


class TestLangChainTools(OpenedByName):
    calls = SHOP_CALLS
    nothing = SHOP_NOTHING

    @pytest.fixture(scope="class")
    @classmethod
    def name(cls, tmp_path_factory: pytest.TempPathFactory) -> str:
        pytest.importorskip(
            "langchain_core", reason="langchain-core is not installed (pip install 'r-eval[langchain]')"
        )
        path = tmp_path_factory.mktemp("langchain") / "shop.py"
        path.write_text(shops.LANGCHAIN, encoding="utf-8")
        return f"langchain:{path}:shop"


# What `r-eval new domain` writes

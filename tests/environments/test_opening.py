"""How an environment is opened by name, with settings; what is wrong is expected in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.base import Environment, query_api
from r_eval.environments.opening import located, open_environment
from r_eval.errors import UserError
from tests.environments.conftest import Ask

FILE = '''
from __future__ import annotations

from pathlib import Path
from typing import Literal

from r_eval.environments.base import Environment, query_api


class Recipes(Environment):
    """Dishes."""

    def __init__(
        self, path: Path, most: int = 5, order: Literal["name", "time"] = "name", tags: list[str] | None = None
    ):
        self.given = (path, most, order, tags)

    @query_api
    def find(self, name: str) -> str:
        """Find a dish."""
        return name


class Fails(Environment):
    """Cannot be made."""

    def __init__(self):
        raise FileNotFoundError("no data here")


class Bug(Environment):
    """Has a mistake."""

    def __init__(self):
        self.first = {}["first"]
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("domain") / "recipes.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def refusal(name: str, settings: dict[str, Any] | None = None) -> str:
    with pytest.raises(UserError) as caught:
        open_environment(name, settings)
    return str(caught.value)


def test_settings_are_the_constructors_arguments_converted_where_that_is_safe(file: Path) -> None:
    for tags in (["a", "é"], '["a", "é"]'):  # of a grid, and of `--set tags='["a", "é"]'`
        environment: Any = open_environment(
            f"{file}:Recipes", {"path": "data", "most": "3", "tags": tags, "timeout": "2.5"}
        )
        assert environment.given == (Path("data"), 3, "name", ["a", "é"])
        assert environment.timeout == 2.5


BOOKS = '''
"""Books of a village library."""

from __future__ import annotations

import json
from pathlib import Path

from r_eval.environments import NotFound, query_api

DATA = Path(__file__).with_name("books.json")
SHELVES = {"Ж": ["Жизнь"], "A": ["Emma", "Émile"]}


@query_api
def find_book(title: str, shelf: str = None) -> list[str]:
    """Find books by title.

    Args:
        title: A part of the title.
        shelf: Its letter.
    """
    found = [book for letter in ([shelf] if shelf else SHELVES) for book in SHELVES[letter] if title in book]
    if not found:
        raise NotFound(f"No book is called {title}.")
    return found


@query_api
async def count() -> int:
    """Count the books."""
    return sum(map(len, SHELVES.values()))


find = find_book


def records(kind):
    if kind != "book":
        raise KeyError(kind)
    return [{"title": book} for books in SHELVES.values() for book in books]
'''
CLASS = """

from r_eval.environments import Environment


class Library(Environment):
    '''Books.'''
"""


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_marked_functions_of_a_file_are_the_query_apis(tmp_path: Path, ask: Ask) -> None:
    environment = open_environment(written(tmp_path / "books.py", BOOKS), {"timeout": 5})
    assert environment.description == "Books of a village library."
    assert environment.records("book")[0] == {"title": "Жизнь"}
    assert [spec.action() for spec in environment.specs().values()] == [
        "find_book(title, shelf?): Find books by title.",
        "count(): Count the books.",
    ]
    assert (ask(environment, "find_book", title="Ém").value, ask(environment, "count").value) == (["Émile"], 3)
    assert "unknown setting 'path'" in refusal(str(tmp_path / "books.py"), {"path": "x"})


def test_a_folder_with_an_init_file_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/__init__.py").write_text("from .core import Shop", encoding="utf-8")
    (tmp_path / "shop/core.py").write_text(CLASS.replace("Library", "Shop"), encoding="utf-8")
    for name in ("./shop", "shop/", "./shop/__init__.py", "./shop:Shop", located("./shop:Shop", tmp_path)):
        assert open_environment(name).description == "Books."
    assert located("shop", tmp_path) == "shop"


def test_the_version_of_a_file_covers_its_data_and_not_its_comments(tmp_path: Path) -> None:
    data = tmp_path / "books.json"

    def version(name: str, text: str, content: str) -> str:
        data.write_text(content, encoding="utf-8")
        folder = tmp_path / name
        folder.mkdir()
        file = written(
            folder / "books.py", text.replace('Path(__file__).with_name("books.json")', f"Path({str(data)!r})")
        )
        return open_environment(file).version

    first = version("first", BOOKS, "[]")
    assert version("same", f"# A comment.\n{BOOKS}", "[]") == first
    assert version("code", BOOKS.replace("title in book", "title == book"), "[]") != first
    assert version("data", BOOKS, "[1]") != first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            BOOKS + CLASS,
            "defines the query APIs find_book, count and the class Library: name the class, {file}:Library",
        ),
        (CLASS + CLASS.replace("Library", "Archive"), "defines 2 environments: write {file}:Library or {file}:Archive"),
        (
            BOOKS.replace("@query_api", "@staticmethod"),
            "{file} has no query API: put @query_api",
        ),
        ("def look(name): ...\nfrom os import getcwd\n", "it defines look"),
        ("x = {}['Tokyo']\n", "{file}: importing it fails: KeyError: 'Tokyo' (file.py:1, in <module>)"),
        ("def broken(:\n", "importing it fails: SyntaxError"),
    ],
)
def test_a_file_that_is_no_environment_says_why(tmp_path: Path, text: str, message: str) -> None:
    file = written(tmp_path / "file.py", text)
    assert message.format(file=file) in refusal(file)


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("$FILE:Recipes", {}, "needs the setting 'path'"),
        (
            "$FILE:Recipes",
            {"path": "x", "mots": 3},
            "unknown setting 'mots'. Did you mean most? Known: most, order, path, tags",
        ),
        ("$FILE:Recipes", {"path": "x", "most": "many"}, "setting 'most' must be int, not 'many'"),
        ("$FILE:Recipes", {"path": "x", "timeout": "0"}, "timeout: expected seconds above 0, not 0"),
        (
            "$FILE:Recipes",
            {"path": "x", "order": "size"},
            "setting 'order' must be Literal['name', 'time'], not 'size'",
        ),
        ("$FILE:Bug", {}, "cannot be opened: KeyError: 'first'"),
        ("$FILE:Fails", {}, "cannot be opened: no data here"),
        ("$FILE:Recipe", {}, "has no Recipe; it defines: Recipes"),
        ("nowhere.py", {}, "nowhere.py: no such file"),
        ("wikki", {}, "unknown environment 'wikki'. Did you mean wiki?"),
        ("mcp:", {}, "expected mcp:<command or URL>"),
        ("openapi:", {}, "expected openapi:<file or URL>"),
        ("langchain: ", {}, "expected langchain:<module or file.py>:<factory>"),
        ("no.such.module:Thing", {}, "cannot import no.such.module"),
        ("wiki", {"source": "dump"}, "setting 'source' must be"),
        ("wiki", {"language": "de"}, "language is a setting of source: live, and the source is snapshot"),
        ("wiki", {"zim": "wiki.zim"}, "zim is a setting of source: zim, and the source is snapshot"),
        ("wiki", {"source": "live", "pages": "pages.jsonl"}, "pages is a setting of source: snapshot"),
        ("wiki", {"source": "zim"}, "source: zim needs the setting zim"),
        ("wiki", {"source": "zim", "zim": "none.zim"}, "there is no ZIM file at none.zim"),
        ("wiki", {"source": "live", "language": "de", "api_url": "http://127.0.0.1:9/api.php"}, "give one of them"),
        ("wiki", {"source": "live", "language": "evil.example/"}, "language: 'evil.example/' is not a code"),
        ("wiki", {"source": "live", "api_url": "file:///etc/passwd"}, "is not the address of an API"),
        ("wiki", {"source": "live", "requests_per_second": 0}, "requests_per_second must be above 0"),
        ("wiki", {"source": "live", "user_agent": "me\r\nX: y"}, "user_agent"),
        ("aminer", {"source": "web"}, "setting 'source' must be"),
        ("aminer", {"source": "live", "scholars": "x.jsonl"}, "goes with the source snapshot"),
        ("aminer", {"base_url": "http://127.0.0.1"}, "go with the source live"),
        ("aminer", {"source": "live", "base_url": "ftp://host"}, "is not the address of an API"),
        ("aminer", {"source": "live", "base_url": "https://me:pass@host"}, "is not the address of an API"),
        (
            "aminer",
            {"source": "live", "api_key_env": "NOT_SET_ANYWHERE"},
            "variable NOT_SET_ANYWHERE (api_key_env) is not set",
        ),
        ("aminer", {"source": "live", "requests_per_second": 0}, "requests_per_second"),
    ],
)
def test_what_is_wrong_is_said(file: Path, name: str, settings: dict[str, Any], expected: str) -> None:
    assert expected in refusal(name.replace("$FILE", str(file)), settings)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("wiki", "wiki"),
        ("./recipes.py:Recipes", "grids/recipes.py:Recipes"),
        ("./recipes.py", "grids/recipes.py"),
        ("./other.py:Recipes", "./other.py:Recipes"),
        ("/abs/recipes.py:Recipes", "/abs/recipes.py:Recipes"),
        ("openapi:api.yaml", "openapi:grids/api.yaml"),
        ("openapi:https://a.example/api.yaml", "openapi:https://a.example/api.yaml"),
        ("langchain:tools.py:make", "langchain:grids/tools.py:make"),
        ("mcp:python server.py", "mcp:python server.py"),
    ],
)
def test_files_are_found_from_the_folder_of_the_grid(
    name: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("grids")
    folder.mkdir()
    for file in ("recipes.py", "tools.py", "api.yaml"):
        (folder / file).touch()
    assert located(name, folder) == found


API = "openapi: 3.1.0\nservers: [{url: http://127.0.0.1:9}]\npaths: {/a: {get: {}}}\n"


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("wiki", {"pages": "~/file.jsonl"}, '{"title": "Kenya", "text": "A country."}'),
        ("aminer", {"scholars": "~/file.jsonl"}, '{"name": "Ada Okello"}'),
        ("corpus", {"documents": "~/file.jsonl"}, '{"id": 1, "text": "Tea."}'),
        ("openapi:~/file.jsonl", {}, API),
    ],
)
def test_a_file_is_found_in_the_home_of_a_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, Any], text: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    written(tmp_path / "file.jsonl", text)
    assert open_environment(name, settings).specs()


class Shop(Environment):
    @query_api
    def find(self, name: str) -> str:
        """Find by name."""
        return name

    @query_api
    def price(self, name: str) -> int:
        """The price."""
        return 1


class Typed(Shop):
    def find(self, number: int) -> str:  # type: ignore[override]
        """Find by number."""
        return str(number)


class Undocumented(Shop):
    async def find(self, name: str, most: int = 3) -> str:  # type: ignore[override]
        return name


class Static(Shop):
    @staticmethod
    def find(name: str) -> str:  # type: ignore[override]
        return name


class Less(Shop):
    price = None  # type: ignore[assignment]


class Again(Less):
    @query_api
    def price(self) -> int:  # type: ignore[override]
        return 2


def test_what_replaces_a_query_api_is_offered_as_it_is_written() -> None:
    offered = {kind.__name__: [one.action() for one in kind().specs().values()] for kind in Shop.__subclasses__()}
    assert offered == {
        "Typed": ["find(number): Find by number.", "price(name): The price."],
        "Undocumented": ["find(name, most?): Find by name.", "price(name): The price."],
        "Static": ["find(name): Find by name.", "price(name): The price."],
        "Less": ["find(name): Find by name."],
    }
    assert [one.action() for one in Again().specs().values()] == ["find(name): Find by name.", "price(): The price."]

"""How an environment is opened by name, with settings; what is wrong is said in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.opening import located, open_environment
from r_eval.environments.wiki.environment import Wiki
from r_eval.errors import UserError

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


class Anything(Environment):
    """Takes whatever it is given."""

    def __init__(self, **settings):
        self.given = settings


class Unchecked(Environment):
    """Has a type that does not exist."""

    def __init__(self, path: NoSuchType = None):
        self.given = path


class Broken(Environment):
    """Has a query API that cannot be one."""

    @query_api
    def find(self, *names: str) -> str:
        """Find."""
        return ""


class Misspelt(Environment):
    """Has a query API with a type that does not exist."""

    @query_api
    def find(self, name: Strin) -> str:
        """Find."""
        return ""


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


def test_a_plain_name_is_an_installed_environment() -> None:
    assert isinstance(open_environment("wiki"), Wiki)


def test_a_module_and_a_file_name_a_class(file: Path) -> None:
    assert isinstance(open_environment("r_eval.environments.wiki.environment:Wiki"), Wiki)
    assert list(open_environment(f"{file}:Recipes", {"path": "x"}).specs()) == ["find"]


def test_settings_are_the_constructors_arguments_converted_where_that_is_safe(file: Path) -> None:
    settings = {"path": "data", "most": "3", "tags": ["a"]}
    environment: Any = open_environment(f"{file}:Recipes", settings)
    assert environment.given == (Path("data"), 3, "name", ["a"])


def test_a_constructor_that_takes_anything_is_given_it(file: Path) -> None:
    environment: Any = open_environment(f"{file}:Anything", {"a": 1})
    assert environment.given == {"a": 1}


def test_a_constructor_whose_types_cannot_be_read_is_given_what_there_is(file: Path) -> None:
    environment: Any = open_environment(f"{file}:Unchecked", {"path": 3})
    assert environment.given == 3


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("Recipes", {}, "needs the setting 'path'"),
        (
            "Recipes",
            {"path": "x", "mots": 3},
            "unknown setting 'mots'. Did you mean most? Known: most, order, path, tags",
        ),
        ("Recipes", {"path": "x", "most": "many"}, "setting 'most' must be int, not 'many'"),
        ("Recipes", {"path": "x", "order": "size"}, "setting 'order' must be Literal['name', 'time'], not 'size'"),
        ("Bug", {}, "cannot be opened: KeyError: 'first'"),
        ("Fails", {}, "cannot be opened: no data here"),
        ("Broken", {}, "cannot be opened: find: the parameter *names: 'str' cannot be given by name"),
        ("Misspelt", {}, "cannot be opened: name 'Strin' is not defined"),
        ("Recipe", {}, "has no Recipe; it defines: Recipes"),
    ],
)
def test_what_is_wrong_is_said(file: Path, name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        open_environment(f"{file}:{name}", settings)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wikki", "unknown environment 'wikki'. Did you mean wiki?"),
        ("mcp:", "expected mcp:<command or URL>"),
        ("openapi:", "expected openapi:<file or URL>"),
        ("langchain: ", "expected langchain:<module or file.py>:<factory>"),
        ("no.such.module:Thing", "cannot import no.such.module"),
    ],
)
def test_a_name_that_nothing_has_is_the_persons_error(name: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        open_environment(name)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("wiki", "wiki"),
        ("my.module:Class", "my.module:Class"),
        ("./recipes.py:Recipes", "grids/recipes.py:Recipes"),
        ("./other.py:Recipes", "./other.py:Recipes"),
        ("/abs/recipes.py:Recipes", "/abs/recipes.py:Recipes"),
        ("openapi:api.yaml", "openapi:grids/api.yaml"),
        ("openapi:https://a.example/api.yaml", "openapi:https://a.example/api.yaml"),
        ("langchain:tools.py:make", "langchain:grids/tools.py:make"),
        ("langchain:my.tools:make", "langchain:my.tools:make"),
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

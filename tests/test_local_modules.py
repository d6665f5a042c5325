"""Modules beside a domain's file: the file imports them, as a script would, and a run knows their code."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.environments.opening import open_environment
from r_eval.errors import UserError
from r_eval.plugins import module_of_file

DOMAIN = """'''Prices.'''

from r_eval.environments import query_api
{imports}

@query_api
def price(dish: str) -> str:
    '''The price of a dish.

    Args:
        dish: Its name.
    '''
    {lazy}
    return {value}
"""


def domain(folder: Path, imports: str, value: str, lazy: str = "", **files: str) -> str:
    """Write a domain with modules beside it; returns its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"recipes": DOMAIN.format(imports=imports, value=value, lazy=lazy), **files}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return str(folder / "recipes.py")


def price(name: str) -> str:
    found: str = open_environment(name).price("Ugali")  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    ("number", "imports", "value", "lazy"),
    [
        (1, "import helper1", "helper1.SUM", ""),
        (2, "", "helper2.SUM", "import helper2"),
        (3, "import parts3.sums as s", "s.SUM", ""),
        (4, "from parts4 import SUM", "SUM", ""),
    ],
)
def test_a_domain_imports_what_lies_beside_it(number: int, imports: str, value: str, lazy: str, tmp_path: Path) -> None:
    folder = tmp_path / "日本"
    name = domain(folder, imports, value, lazy)
    (folder / f"helper{number}.py").write_text("SUM = '800 円'", encoding="utf-8")
    (folder / f"parts{number}").mkdir()
    (folder / f"parts{number}" / "__init__.py").write_text("from .sums import SUM", encoding="utf-8")
    (folder / f"parts{number}" / "sums.py").write_text(f"from helper{number} import SUM", encoding="utf-8")
    assert price(name) == "800 円"


@pytest.mark.parametrize("edited", ["recipes", "near2", "far3"])
def test_a_file_that_was_edited_since_is_run_again(
    edited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    near, far = f"near{edited[-1]}", f"far{edited[-1]}"
    name = domain(tmp_path, f"import {near}", f"{near}.SUM", **{near: f"from {far} import SUM", far: "SUM = 'a'"})
    before = open_environment(name)
    assert (price(name), module_of_file(name) is module_of_file(name)) == ("a", True)
    text = DOMAIN.format(imports="", lazy="", value="'b'") if edited == "recipes" else "SUM = 'b'"
    (tmp_path / f"{edited}.py").write_text(text, encoding="utf-8")
    assert (price(name), before.price("Ugali")) == ("b", "a")  # type: ignore[attr-defined]


@pytest.mark.parametrize("edited", ["recipes", "far"])
@pytest.mark.parametrize("is_package", [False, True])
def test_a_module_that_was_edited_since_is_reloaded(
    edited: str, is_package: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    package = f"edited_{edited}" if is_package else ""
    folder = tmp_path / package
    domain(folder, f"from {package and '.'}far_{edited} import SUM", "SUM", **{f"far_{edited}": "SUM = 'a'"})
    kind = "\nclass Shop(Environment):\n    price = staticmethod(price)\n"
    text = (folder / "recipes.py").read_text(encoding="utf-8")
    text = text.replace("import query_api", "import Environment, query_api")
    (folder / f"recipes_{edited}.py").write_text(text + kind, encoding="utf-8")
    if package:
        (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    name = f"{package}.recipes_{edited}".lstrip(".")
    assert price(f"{name}:Shop") == "a"
    module = importlib.import_module(name)
    assert (price(f"{name}:Shop"), importlib.import_module(name)) == ("a", module)  # not imported again and again
    changed = {"recipes": (text + kind).replace("return SUM", "return 'b'"), "far": "SUM = 'b'"}[edited]
    (folder / f"{edited}_{edited}.py").write_text(changed, encoding="utf-8")
    assert (price(f"{name}:Shop"), importlib.import_module(name), module.Shop().price("")) == ("b", module, "b")
    (folder / f"{edited}_{edited}.py").write_text("1 +", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(UserError, match="SyntaxError"):
            price(f"{name}:Shop")


def test_two_modules_of_one_name_are_refused_with_both_files(tmp_path: Path) -> None:
    assert price(domain(tmp_path / "kenya", "import alike", "alike.SUM", alike="SUM = '120 KES'")) == "120 KES"
    with pytest.raises(UserError, match=r"alike\.py and .*alike\.py are both a module 'alike': rename one of them"):
        open_environment(domain(tmp_path / "日本", "import alike", "alike.SUM", alike="SUM = '800 円'"))


def test_a_package_that_has_the_name_of_an_earlier_file_is_refused(tmp_path: Path) -> None:
    domain(tmp_path / "kenya" / "twice", "", "'120 KES'", __init__="")
    assert price(domain(tmp_path / "tokyo", "import twice", "twice.SUM", twice="SUM = '800 円'")) == "800 円"
    with pytest.raises(UserError, match=r"recipes\.py.*twice"):
        open_environment(str(tmp_path / "kenya" / "twice" / "recipes.py"))
    with pytest.raises(UserError, match=r"twice.* are both a module 'twice': rename one of them"):
        open_environment(str(tmp_path / "kenya" / "twice" / "__init__.py"))


def test_the_standard_library_comes_first(tmp_path: Path) -> None:
    assert price(domain(tmp_path, "import json", "json.dumps(1)", json="SUM = 'mine'")) == "1"


def test_a_fault_of_a_helper_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ZeroDivisionError: division by zero \(broken\.py:2"):
        open_environment(domain(tmp_path, "import broken", "broken.SUM", broken="\nSUM = 1 / 0\n"))


def test_the_modules_of_a_package_count_and_those_of_installed_libraries_do_not(tmp_path: Path) -> None:
    imports = "import pydantic\nfrom farm import cells\nfrom .more import SUM"
    assert price(domain(tmp_path / "farm", imports, "SUM", __init__="", cells="", more="SUM = '7'")) == "7"
    code = (
        "from r_eval.plugins import code_files; from pathlib import Path; import farm.recipes\n"
        "print(*[p.name for p in code_files(Path(farm.recipes.__file__))])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["__init__.py", "cells.py", "more.py", "recipes.py"]

"""Modules beside a domain's file: the file imports them, other domains do not see them, and a run knows their code."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from r_eval.environments import Environment
from r_eval.environments.opening import open_environment
from r_eval.errors import UserError
from r_eval.fingerprints import code_hashes
from r_eval.local_modules import load_file

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


def domain(folder: Path, imports: str, value: str = "helper.SUM", lazy: str = "", name: str = "recipes.py") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(DOMAIN.format(imports=imports, value=value, lazy=lazy), encoding="utf-8")
    return str(folder / name)


def price(name: str) -> str:
    environment = open_environment(name)
    found: str = environment.price("Ugali")  # type: ignore[attr-defined]
    return found


def hashes(name: str) -> dict[str, str]:
    return code_hashes(type(open_environment(name)), Environment)


@pytest.mark.parametrize(
    ("imports", "value", "lazy"),
    [
        ("import helper", "helper.SUM", ""),
        ("import helper as h", "h.SUM", ""),
        ("from helper import SUM", "SUM", ""),
        ("from .helper import SUM", "SUM", ""),
        ("from . import helper", "helper.SUM", ""),
        ("", "helper.SUM", "import helper"),
        ("import parts.sums", "parts.sums.SUM", ""),
        ("import parts.sums as s", "s.SUM", ""),
        ("from parts import sums", "sums.SUM", ""),
        ("from parts.again import SUM", "SUM", ""),
        ("from parts import SUM", "SUM", ""),
    ],
)
def test_a_domain_imports_what_lies_beside_it_and_nothing_else_does(
    imports: str, value: str, lazy: str, tmp_path: Path
) -> None:
    path = list(sys.path)
    for folder, total in (("kenya", "120 KES"), ("日本", "800 円")):
        name = domain(tmp_path / folder, imports, value, lazy)
        (tmp_path / folder / "helper.py").write_text(f"import json, cells\nSUM = {total!r}\n", encoding="utf-8")
        (tmp_path / folder / "cells.py").write_text("import recipes\n", encoding="utf-8")
        parts = tmp_path / folder / "parts"
        parts.mkdir()
        (parts / "__init__.py").write_text("from .sums import SUM\n", encoding="utf-8")
        (parts / "sums.py").write_text("from helper import SUM\n", encoding="utf-8")
        (parts / "again.py").write_text("from ..parts.sums import SUM\n", encoding="utf-8")
        assert price(name) == total
    assert sys.path == path
    assert not {"helper", "cells", "parts", "recipes"} & sys.modules.keys()


def test_the_standard_library_comes_first_and_a_file_does_not_import_itself(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("SUM = 'mine'\n", encoding="utf-8")
    assert price(domain(tmp_path, "import json", "json.dumps(1)")) == "1"
    assert price(domain(tmp_path, "import yaml", "yaml.safe_dump(2)", name="yaml.py")).startswith("2")


def test_a_fault_of_a_helper_is_named_with_its_line(tmp_path: Path) -> None:
    name = domain(tmp_path, "import helper")
    (tmp_path / "helper.py").write_text("\nSUM = 1 / 0\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"ZeroDivisionError: division by zero \(helper\.py:2"):
        open_environment(name)
    (tmp_path / "helper.py").write_text("import absent_module\n", encoding="utf-8")
    with pytest.raises(UserError, match="No module named 'absent_module'"):
        open_environment(name)


def test_the_code_of_helpers_counts_and_is_named(tmp_path: Path) -> None:
    def made(total: str, comment: str, folder: str) -> dict[str, str]:
        name = domain(tmp_path / folder, "import json, helper", "helper.total()", "from parts import again")
        (tmp_path / folder / "helper.py").write_text("def total():\n    import cells\n    return cells.SUM", "utf-8")
        (tmp_path / folder / "cells.py").write_text(f"SUM = {total}  # {comment}\n", encoding="utf-8")
        (tmp_path / folder / "unused.py").write_text(f"SUM = {total!r} + {comment!r}\n", encoding="utf-8")
        (tmp_path / folder / "parts").mkdir(parents=True)
        (tmp_path / folder / "parts" / "again.py").write_text("from .deeper import x\n", encoding="utf-8")
        (tmp_path / folder / "parts" / "deeper.py").write_text("x = 1\n", encoding="utf-8")
        return hashes(name)

    first, same, other = made("1", "one", "a"), made("1", "another", "b"), made("2", "one", "c")
    assert set(first) == {"recipes.py", "helper.py", "cells.py", "parts/again.py", "parts/deeper.py"}
    assert first == same
    assert {file for file in first if first[file] != other[file]} == {"cells.py"}


def test_the_modules_of_a_package_count_and_those_of_installed_libraries_do_not(tmp_path: Path) -> None:
    package = tmp_path / "farm"
    domain(package, "import pydantic\nfrom farm import cells\nfrom .more import SUM", "SUM", name="env.py")
    for name, text in {"__init__": "", "cells": "", "more": "SUM = '7'"}.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    code = (
        "from r_eval.local_modules import code_files; from pathlib import Path; import farm.env\n"
        "print(*[p.name for p in code_files(Path(farm.env.__file__))])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["__init__.py", "cells.py", "env.py", "more.py"]


def test_two_files_that_import_each_other_can_be_loaded_from_two_threads(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.py").write_text(f"import time\ntime.sleep(0.1)\nimport {other}\n", encoding="utf-8")
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    threads = [threading.Thread(target=load_file, args=(path,), daemon=True) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [thread.is_alive() for thread in threads] == [False, False]

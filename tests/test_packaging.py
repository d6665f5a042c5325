"""The package as others get it: an sdist, a wheel made from that sdist, and a copy installed from that wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = {
    "r_eval": "r_eval",
    "environments": "r_eval/environments",
    "workflows": "r_eval/workflows",
    "tasks": "r_eval/tasks",
    "analysis": "r_eval/analysis",
}
FILES = ("setup.cfg", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "NOTICE")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]


def ran(command: list[str], folder: Path, **variables: str) -> str:
    """What a command prints in a folder."""
    done = subprocess.run(command, cwd=folder, env=os.environ | variables, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packaging")


@pytest.fixture(scope="module")
def sdist(work: Path) -> Path:
    copy = work / "copy"
    for name in ROOMS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, copy / name)
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(work)!r})"
    ran([sys.executable, "-c", code], copy)
    return next(work.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(work: Path, sdist: Path) -> Path:
    ran([*PIP, "wheel", "--no-deps", "--no-build-isolation", str(sdist)], work)
    return next(work.glob("*.whl"))


def sources() -> set[str]:
    """Every file of the rooms, by the name that it has in the wheel."""
    return {
        f"{place}/{path.relative_to(ROOT / room).as_posix()}"
        for room, place in ROOMS.items()
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_the_files_of_the_rooms_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == sources()


def test_the_sdist_holds_the_licences_and_no_tests(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert set(FILES) <= names
    assert [name for name in names if name.endswith(".pyc") or "/tests/" in f"/{name}"] == []


def test_the_metadata_names_the_version_the_licence_and_the_entry_points(wheel: Path) -> None:
    from r_eval import __version__

    with zipfile.ZipFile(wheel) as archive:
        inside = [name for name in archive.namelist() if ".dist-info/" in name]
        text = {name.rpartition("/")[2]: archive.read(name).decode() for name in inside}
    assert {f"Version: {__version__}", "Requires-Python: >=3.11"} <= {*text["METADATA"].splitlines()}
    assert "Apache-2.0" in text["METADATA"]
    assert "Apache License" in text["LICENSE"]
    groups = {"r-eval = r_eval.cli.app:script", "[r_eval.workflows]", "[r_eval.environments]", "[r_eval.tasks]"}
    assert groups <= {*text["entry_points.txt"].splitlines()}


def test_the_installed_copy_finds_its_own_files(wheel: Path, tmp_path: Path) -> None:
    ran([*PIP, "install", "--no-deps", "--target", "site", str(wheel)], tmp_path)
    code = """
import sys
from importlib.resources import files
import r_eval
assert r_eval.__file__.startswith(sys.argv[1]), r_eval.__file__
assert "demo" in files("r_eval").joinpath("demo.yaml").read_text(encoding="utf-8")
from r_eval.workflows.base import prompt_text
from r_eval.workflows.react import ReAct
assert prompt_text(ReAct, "react")
from r_eval.cli.app import app
app(["list", "tasks"], standalone_mode=False)
app(["call", "aminer", "searchPerson", "name=Jonas"], standalone_mode=False)
"""
    site = str(tmp_path / "site")
    printed = ran([sys.executable, "-c", code, site], tmp_path, PYTHONPATH=site)
    assert "aminer/soay-hard" in printed
    assert "Jonas" in printed

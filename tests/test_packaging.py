"""The package as others get it: an sdist, a wheel made from that sdist, and a copy installed from that wheel."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

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
NEEDED = [
    "r_eval/py.typed",
    "r_eval/demo.yaml",
    "r_eval/llms/prompts/tools.md",
    "r_eval/workflows/prompts/react.md",
    "r_eval/environments/aminer/snapshot/profiles.jsonl",
    "r_eval/environments/aminer/snapshot/scholars.jsonl",
    "r_eval/environments/wiki/snapshot/pages.jsonl",
    "r_eval/environments/wiki/snapshot/NOTICE.md",
    "r_eval/tasks/aminer/soay-easy.yaml",
    "r_eval/tasks/aminer/soay-easy.questions.jsonl",
    "r_eval/tasks/aminer/soay-easy.demonstrations.jsonl",
    "r_eval/tasks/wiki/hotpotqa.questions.jsonl",
    "r_eval/analysis/report/template.html",
    "r_eval/analysis/report/style.css",
    "r_eval/analysis/report/page.js",
]


def ran(command: list[str], folder: Path, path: Path | None = None) -> str:
    """What a command prints, in a folder, with packages of a further place."""
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packaging")


@pytest.fixture(scope="module")
def tools(work: Path) -> Path:
    """A place with the setuptools that pyproject.toml asks for; empty where this interpreter has it already."""
    place = work / "tools"
    place.mkdir()
    try:
        recent = int(importlib.metadata.version("setuptools").partition(".")[0]) >= 77
    except importlib.metadata.PackageNotFoundError:
        recent = False
    if not recent:
        ran([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(place), "setuptools>=77"], work)
    return place


@pytest.fixture(scope="module")
def sdist(work: Path, tools: Path) -> Path:
    copy = work / "copy"
    for name in ROOMS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, copy / name)
    code = f"from setuptools.build_meta import build_sdist; build_sdist({str(work)!r})"
    ran([sys.executable, "-c", code], copy, tools)
    return next(work.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(work: Path, tools: Path, sdist: Path) -> Path:
    with tarfile.open(sdist) as archive:
        safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not in every Python 3.11
        archive.extractall(work / "unpacked", **safely)
    source = next((work / "unpacked").iterdir())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    ran([*command, str(work), str(source)], work, tools)
    return next(work.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(work: Path, wheel: Path) -> Path:
    """A place where the wheel is installed, without what it depends on."""
    place = work / "site"
    ran([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), str(wheel)], work)
    return place


def sources() -> set[str]:
    """Every file of the rooms, by the name that it has in the wheel."""
    return {
        f"{place}/{path.relative_to(ROOT / room).as_posix()}"
        for room, place in ROOMS.items()
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_the_rooms(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert [name for name in NEEDED if name not in names] == []
    assert sorted(sources() - names) == []


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert sorted(names - sources()) == []


def test_the_sdist_holds_what_the_wheel_is_made_of(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.*")}
    wanted = {name for name in wanted if (ROOT / name).is_file() and "__pycache__" not in name} | set(FILES)
    assert sorted(wanted - names) == []
    assert [name for name in names if name.endswith(".pyc") or "/tests/" in f"/{name}"] == []


def test_the_metadata_names_the_version_the_licence_and_the_entry_points(wheel: Path) -> None:
    from r_eval import __version__

    with zipfile.ZipFile(wheel) as archive:
        inside = [name for name in archive.namelist() if ".dist-info/" in name]
        text = {name.rpartition("/")[2]: archive.read(name).decode() for name in inside}
    assert f"\nVersion: {__version__}\n" in text["METADATA"]
    assert "\nRequires-Python: >=3.11\n" in text["METADATA"]
    assert "Apache-2.0" in text["METADATA"]
    assert "Apache License" in text["LICENSE"]
    for line in ("r-eval = r_eval.cli.app:script", "[r_eval.workflows]", "[r_eval.environments]", "[r_eval.tasks]"):
        assert line in text["entry_points.txt"]


def test_the_installed_copy_finds_its_own_files(installed: Path, tmp_path: Path) -> None:
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
    printed = ran([sys.executable, "-c", code, str(installed)], tmp_path, installed)
    assert "aminer/soay-hard" in printed
    assert "Jonas" in printed

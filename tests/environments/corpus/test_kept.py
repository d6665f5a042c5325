"""A folder of the cache is built once, is whole or not there, and is built anew when it is damaged."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from r_eval.environments.corpus.kept import kept
from r_eval.errors import UserError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path))
    return tmp_path / "indexes"


def there(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Building:
    """Writes a folder of one file and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, folder: Path) -> None:
        self.count += 1
        (folder / "file").write_text("content", encoding="utf-8")

    def get(self) -> str:
        return kept("it", self.write, lambda folder: (folder / "file").read_text(encoding="utf-8"))


def test_what_is_there_is_not_built_again() -> None:
    building = Building()
    assert (building.get(), building.get(), building.count) == ("content", "content", 1)


@pytest.mark.parametrize("damage", ["truncated", "changed", "deleted", "no manifest", "torn manifest", "one file more"])
def test_a_damaged_folder_is_built_anew(cache: Path, damage: str) -> None:
    building = Building()
    building.get()
    file, manifest = cache / "it" / "file", cache / "it" / "manifest.json"
    if damage == "truncated":
        file.write_text("cont", encoding="utf-8")
    elif damage == "changed":
        file.write_text("CONTENT", encoding="utf-8")
    elif damage == "deleted":
        file.unlink()
    elif damage == "no manifest":
        manifest.unlink()
    elif damage == "torn manifest":
        manifest.write_text(manifest.read_text(encoding="utf-8")[:20], encoding="utf-8")
    else:
        (cache / "it" / "more").touch()
    assert (building.get(), building.count) == ("content", 2)
    assert there(cache) == ["it"]


def test_a_folder_that_cannot_be_read_is_built_anew(cache: Path) -> None:
    building = Building()
    building.get()

    def read(folder: Path) -> str:
        if building.count == 1:
            raise ValueError("of another version")
        return "read"

    assert kept("it", building.write, read) == "read"
    assert building.count == 2


def test_a_build_that_fails_leaves_nothing(cache: Path) -> None:
    def write(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        kept("it", write, str)
    assert there(cache) == []


def test_what_a_killed_process_left_is_swept_after_a_while(cache: Path) -> None:
    old, new = cache / ".it-old", cache / ".it-new"
    for draft in (old, new):
        draft.mkdir(parents=True)
    os.utime(old, (time.time() - 30 * 24 * 3600,) * 2)
    Building().get()
    assert there(cache) == [".it-new", "it"]


def test_a_cache_that_cannot_be_written_is_told(cache: Path) -> None:
    cache.write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(UserError, match=r"the index cannot be written .*R_EVAL_CACHE"):
        Building().get()


def _slowly(folder: Path) -> None:
    time.sleep(0.5)
    (folder / "file").write_text("content", encoding="utf-8")


def _process(number: int) -> str:
    return kept("it", _slowly, lambda folder: (folder / "file").read_text(encoding="utf-8"))


def test_processes_that_build_at_once_end_with_one_folder(cache: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(_process, range(3), chunksize=1) == ["content"] * 3
    assert there(cache) == ["it"]

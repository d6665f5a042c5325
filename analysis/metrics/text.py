"""Metrics of generated text: ROUGE, BLEU, BERTScore and the similarity of embeddings.

- ROUGE-1, -2 and -L (Lin 2004): the F-measure of words, of pairs of words, or of the longest common subsequence of
  words, as Google's rouge-score computes it without a stemmer; the subsequence by rapidfuzz, which is exact and
  bit-parallel (rouge-score takes 44 ms for two texts of 300 words). Words are those of `segment`; `rouge_l@ru` and its
  like compare Russian stems, DRAGON's published words: runs of `\\w`, each cut down by Snowball. Two texts without
  words score 1 if they are the same, where rouge-score says 0.
- BLEU (Papineni et al. 2002): sacrebleu's of one sentence (Post 2018), for each gold by itself: 13a tokens, case kept,
  exponential smoothing, effective order, brevity penalty. It is a measure of a corpus; the mean over questions is none.
- BERTScore (Zhang et al. 2020): F1 of the greedy matching of token embeddings by cosine, by the bert-score package
  without idf and rescaling. High for any two texts: compare systems by it, never a system with a threshold.
- Embedding similarity: the cosine of two texts' sentence embeddings, what CRUD-RAG's code calls bertScore. Its figures
  depend on the model. Negative cosines are 0.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.analysis.metrics.qa import f_measure
from r_eval.analysis.metrics.registry import Batched
from r_eval.analysis.metrics.segment import bare, segments, spaced
from r_eval.errors import MissingExtra, UserError
from r_eval.languages import one_letter, stem

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

    from r_eval.environments.corpus.embedding import Embedding

TextPair = tuple[str, str]

_UNSTATED = 1_000_000
"""transformers gives a tokenizer of no stated length one beyond this."""
_WORD = re.compile(r"\w+")
_COUNTED = {0: "the longest subsequence of words", 1: "the words", 2: "the pairs of neighbouring words"}


class Rouge:
    """F-measure of what two texts have in common; `rouge_1`, `rouge_2` and `rouge_l` differ in what that is.

    >>> round(Rouge(1)("the cat sat", ["sat the cat down"]), 4), round(Rouge(2)("the cat sat", ["sat the cat down"]), 4)
    (0.8571, 0.4)
    >>> round(Rouge(0)("the cat sat", ["the cat has sat down"]), 2), Rouge(0)("北京大学。", ["北京大学"])
    (0.75, 1.0)
    """

    def __init__(self, length: int, language: str | None = None) -> None:
        """Set up the metric.

        Args:
            length: Of the runs of words that are counted; 0 for the longest common subsequence.
            language: "ru" for Russian stems.

        Raises:
            UserError: Nothing is known of the language.
        """
        if language not in (None, "ru"):
            raise UserError(f"rouge@{language}: expected @ru (as in rouge_l@ru), or nothing for any other language")
        self.__doc__ = f"F-measure of {_COUNTED[length]} in common (ROUGE), the best over the golds."
        self._length = length
        self._cut = segments if language is None else russian_stems

    def __call__(self, prediction: str, golds: Sequence[str]) -> float:
        """The F-measure, the best over the golds.

        Raises:
            MissingExtra: There is Chinese text, or Russian for stems, and what cuts it is not installed.
        """
        found = self._cut(prediction)
        return max((self._pair(found, self._cut(gold), bare(prediction) == bare(gold)) for gold in golds), default=0.0)

    def _pair(self, found: list[str], wanted: list[str], is_same: bool) -> float:
        from rapidfuzz.distance import LCSseq

        if not found and not wanted:
            return float(is_same)
        if not self._length:
            return f_measure(LCSseq.similarity(found, wanted), len(found), len(wanted))
        ours, theirs = (Counter(runs(words, self._length)) for words in (found, wanted))
        return f_measure((ours & theirs).total(), ours.total(), theirs.total())


rouge_1, rouge_2, rouge_l = (functools.partial(Rouge, length) for length in (1, 2, 0))
"""Make the three metrics, each given a language or None."""


def runs(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    """All runs of so many words (n-grams)."""
    return list(zip(*(words[start:] for start in range(length)), strict=False))


def russian_stems(text: str) -> list[str]:
    """The stems of a text's words.

    >>> russian_stems("В Москве — 3 театра.")
    ['в', 'москв', '3', 'театр']

    Raises:
        MissingExtra: There is Russian in it, and snowballstemmer is not installed.
    """
    return [stem(word) for word in _WORD.findall(one_letter(unicodedata.normalize("NFKC", text)).lower())]


def bleu(prediction: str, golds: Sequence[str]) -> float:
    """Sentence BLEU, the best over the golds.

    Two texts that differ in nothing but stops at the end score 1.

    >>> bleu("the cat sat on the mat.", ["the cat sat on the mat"]), round(bleu("a cat sat", ["the cat sat"]), 2)
    (1.0, 0.55)

    Raises:
        MissingExtra: sacrebleu is not installed; or there is Chinese text, and jieba is not.
    """
    found = prepared(prediction)
    return max((_bleu_pair(found, prepared(gold)) for gold in golds), default=0.0)


def _bleu_pair(found: str, gold: str) -> float:
    scorer = _bleu_scorer()
    if not found or not gold:
        return float(found == gold)
    if found == gold or bare(found) == bare(gold):
        return 1.0
    return min(1.0, float(scorer.sentence_score(found, [gold]).score) / 100)


def prepared(text: str) -> str:
    """The text as sacrebleu is given it: in NFKC, with words of scripts without spaces set apart."""
    return spaced(unicodedata.normalize("NFKC", text).strip())


@functools.cache
def _bleu_scorer() -> BLEU:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise MissingExtra("sacrebleu", "metrics", "bleu") from None
    return BLEU(tokenize="13a", smooth_method="exp", effective_order=True, lowercase=False)


class Pairwise(Batched):
    """A metric of two texts that a model compares: 1 where they are the same text, 0 where one is empty."""

    def __init__(self, model: str | None = None) -> None:
        """Keep the model's name; the model is loaded when it is first used."""
        self._name = model

    def prepare(self, text: str) -> str:
        """The text as it is compared."""
        return text.strip()

    def compare(self, pairs: Sequence[TextPair]) -> list[float]:
        """The numbers of some pairs of texts, at least one; they differ, and none is empty."""
        raise NotImplementedError

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers; each pair of texts is compared once.

        Raises:
            MissingExtra, UserError: What the metric needs is not installed; there is no such model.
        """
        rows = [
            [(self.prepare(prediction), self.prepare(gold)) for gold in right]
            for prediction, right in zip(predictions, golds, strict=True)
        ]
        unlike = sorted({(one, two) for row in rows for one, two in row if one and two and one != two})
        scores = dict(zip(unlike, self.compare(unlike), strict=True)) if unlike else {}
        known = {pair: min(1.0, max(0.0, score)) for pair, score in scores.items()}
        return [
            max((1.0 if one == two else known.get((one, two), 0.0) for one, two in row), default=0.0) for row in rows
        ]


class BertScore(Pairwise):
    """F1 of token embeddings matched by cosine (BERTScore), the best over the golds; needs a model's folder.

    The folder follows the name (`bert_score@./roberta-large`). Nothing is fetched. The layer is the one that the
    package has for a model of the folder's name, else the last.
    """

    @functools.cached_property
    def _scorer(self) -> Any:
        if not self._name:
            raise UserError("bert_score needs a model's folder: name it bert_score@FOLDER")
        folder, path = self._name, Path(self._name)
        try:
            config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"bert_score: {folder} is no folder of a model (config.json: {error})") from None
        try:
            from bert_score import BERTScorer
            from bert_score.utils import model2layers
        except ImportError as error:
            raise MissingExtra(error.name or "bert-score", "bert", "bert_score") from None
        own = next((full for full in model2layers if full.rpartition("/")[2] == path.resolve().name), "")
        layer = model2layers.get(own) or config.get("num_hidden_layers") or config.get("n_layer")
        if not layer:
            raise UserError(f"bert_score: {path / 'config.json'} does not say how many layers the model has")
        try:
            scorer = BERTScorer(model_type=str(path), num_layers=int(layer))
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(f"bert_score: the model in {folder} cannot be loaded: {error}") from None
        if scorer._tokenizer.model_max_length > _UNSTATED:
            scorer._tokenizer.model_max_length = config.get("max_position_embeddings", 512) - 2  # RoBERTa counts from 2
        return scorer

    def prepare(self, text: str) -> str:
        return bare(text)

    def compare(self, pairs: Sequence[TextPair]) -> list[float]:
        *_, scores = self._scorer.score([one for one, _ in pairs], [two for _, two in pairs])
        return [float(score) for score in scores]


class EmbeddingSimilarity(Pairwise):
    """Cosine of whole texts' embeddings, the best over the golds.

    `embedding_similarity@MODEL` takes a model of sentence-transformers, a folder or a name on the Hub. The default is
    the embedded one, which is English: of Chinese it knows few characters. Texts are cut where the model ends.
    """

    @functools.cached_property
    def _model(self) -> Embedding:
        from r_eval.environments.corpus.embedding import embedding

        return embedding(self._name)

    def compare(self, pairs: Sequence[TextPair]) -> list[float]:
        texts = sorted({text for pair in pairs for text in pair})
        row = {text: row for row, text in enumerate(texts)}
        vectors = self._model.texts(texts)
        return [float(vectors[row[one]] @ vectors[row[two]]) for one, two in pairs]

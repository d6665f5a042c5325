"""RAGQuestEval as metrics: an LLM asks what the reference says, and looks whether the answer says it.

`quest_eval@LLM` is the combined score, `quest_eval_recall@LLM` and `quest_eval_precision@LLM` its parts;
`quest_eval_precision@LLM#all` divides by all questions that were asked, as the paper's formula does.
`r_eval.analysis.quest_eval` says what they are. They call an LLM, so they run only when they are asked for by name;
together they need no more calls than one of them. NaN where the LLM failed, where its replies cannot be read, and where
no question counts. Of several golds the one that gives the best combined score counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from r_eval.analysis.metrics.registry import Batched
from r_eval.analysis.quest_eval.evaluating import Evaluated, Row, evaluate
from r_eval.analysis.quest_eval.scores import QuestScore
from r_eval.errors import UserError

Part = Literal["combined", "recall", "precision", "precision_all"]


class Combined(Batched):
    """The mean F1 of the answers to what the reference answers, 0 for those that the answer does not hold."""

    name: ClassVar[str] = "quest_eval"
    part: Part = "combined"

    def __init__(self, given: str | None = None) -> None:
        self._llm = given or ""
        self._seen: Counter[str] = Counter()
        self._error = ""

    def batch(
        self, predictions: Sequence[str], golds: Sequence[Sequence[str]], questions: Sequence[str] | None = None
    ) -> list[float]:
        """The scores of many answers; not to be called where an event loop runs.

        Raises:
            UserError: No LLM is named, or it cannot be used.
        """
        if not self._llm:
            raise UserError(f"{self.name} needs an LLM: name it {self.name}@LLM, as in {self.name}@openai/gpt-4o")
        rows = [Row(text, gold) for text, right in zip(predictions, golds, strict=True) for gold in right or [""]]
        found = evaluate(self._llm, rows)
        scores = iter(found.scores)
        best = [_best([next(scores) for _ in right or [""]]) for right in golds]
        self._seen.update(Evaluated(best).counts())
        self._error = found.error or self._error
        return [float(getattr(one, self.part)) for one in best]

    def told(self) -> str:
        """What stands behind the scores since it was last asked, for a person; "" where there are none."""
        seen, error = self._seen, self._error
        self._seen, self._error = Counter(), ""
        return _line(self._llm, seen, error) if seen["texts"] else ""


class Recall(Combined):
    """The share of what the reference answers that the answer answers too, rightly or not."""

    name = "quest_eval_recall"
    part: Part = "recall"


class Precision(Combined):
    """The mean F1 of the answers to what both the reference and the answer answer."""

    name = "quest_eval_precision"

    def __init__(self, given: str | None = None) -> None:
        llm, _, denominator = (given or "").partition("#")
        super().__init__(llm)
        if denominator not in ("", "answered", "all"):
            raise UserError(f"{self.name}: {denominator!r}: expected #answered, which is the default, or #all")
        self.part = "precision_all" if denominator == "all" else "precision"


def _best(scores: Sequence[QuestScore]) -> QuestScore:
    """The best of several golds; none where the LLM failed on one of them."""
    failed = next((one for one in scores if one.why == "failed"), None)
    return failed or max(scores, key=lambda one: one.combined if one.scored else -1.0)


def _line(llm: str, of: Mapping[str, int], error: str) -> str:
    why = {
        "unread": "no reply could be read",
        "unusable": "the reference answers no question",
        "no_reference": "there is no reference",
        "failed": f"the LLM failed: {error}",
    }
    line = (
        f"quest_eval@{llm}: {of['scored']:,} of {of['texts']:,} answers scored, on {of['n_questions']:,} questions: "
        f"{of['n_gt_unanswerable']:,} that the reference does not answer, {of['n_gm_unanswerable']:,} that the answer "
        f"does not, {of['n_misaligned']:,} without a reply under their id; {of['n_dropped']:,} are in no score"
    )
    return line + "".join(f"; {of[word]:,} not scored since {said}" for word, said in why.items() if of[word])

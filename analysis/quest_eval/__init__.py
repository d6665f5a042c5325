"""RAGQuestEval: does a generated text hold what the reference says, and say it rightly?

An LLM writes questions about the reference, answers them from the reference, and answers them from the generated text.
The metrics `quest_eval`, `quest_eval_recall` and `quest_eval_precision` of `analysis.metrics` are made of this.

- `questions`, `answering`, `unanswerable`: what the LLM is told and how its replies are read;
- `sheets`: the questions about one reference; reads the published caches;
- `scores`: from answers to numbers;
- `evaluating`: all of it for many texts.
"""

from __future__ import annotations

from r_eval.analysis.quest_eval.evaluating import Evaluated, Row, evaluate
from r_eval.analysis.quest_eval.scores import Pair, Published, QuestScore, published, score
from r_eval.analysis.quest_eval.sheets import Sheet, read_published
from r_eval.analysis.quest_eval.unanswerable import UNANSWERABLE

__all__ = [
    "UNANSWERABLE",
    "Evaluated",
    "Pair",
    "Published",
    "QuestScore",
    "Row",
    "Sheet",
    "evaluate",
    "published",
    "read_published",
    "score",
]

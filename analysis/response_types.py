"""The six response types: what an episode's ending says about where it went wrong (DESIGN section 4).

`strict` is R-Eval's own rule. An answer matches from a score of 0.5 on. Evidence is what the model was shown of the
environment's knowledge, and nothing else:

- Documents that came with the question, where a prompt held them.
- The observations of calls that went through, as the model saw them. A call that was refused (unknown API, bad
  arguments, a limit, a repetition, a failure of the environment) returned boilerplate. One that found nothing counts
  with the model's own arguments cut out, since "could not find X" holds X only because the model wrote it.
- Containment is of whole tokens in a row, after the normalisation of `metrics.normalise`.
- Where the question names its evidence, all of it must have been observed. Where it names the relevant documents by
  their ids, all of them must have been found (`qrels`). Otherwise any gold must have been observed, and of a gold that
  joins values by ";" every value.
- Verdicts (yes, true, ...), numbers of up to two digits and empty golds are in any text by chance, and golds of more
  than LONGEST tokens (a summary) are in none as they stand. Without named evidence or documents both are `undecided`:
  not supported, and counted.

`paper` is the rule of the paper's text (section 3.4), at the same threshold: the evidence is useful where it holds
*the response*, not the gold. Right and useful is EM, right and not useful AM, wrong and useful GE. Wrong and not
useful is RE, unless a faulty tool or LLM (ME) or the wrong use of a tool (TE) interrupted the process. What the model
itself wrote is no evidence here either, since every answer would be in it.

`published` is the rule of the published code (`benchmark/error_analysis.py`) to the letter: the reward is its own F1,
the threshold 0.05; the first gold is looked for as a substring of characters in everything that the model and the
tools wrote on the way; a wrong answer that is not in there is ME if the loop was halted and an LLM error was noted, TE
if it was halted, and RE otherwise. Halted is a loop that ran out of steps, tokens, time or context: our `exhausted`,
and those of our `tool_misuse` that ended so. An episode has one outcome, so it is never halted and in error at once,
and ME never occurs: nor did it in the published logs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, get_args

from r_eval.analysis.metrics.closed import WORDS
from r_eval.analysis.metrics.literals import gold_values
from r_eval.analysis.metrics.normalise import ARTICLES, TokenRow, readings, tokens
from r_eval.analysis.metrics.published import normalise_published
from r_eval.errors import UserError
from r_eval.records import Document, Episode, OutcomeKind, Step
from r_eval.tasks.placeholders import expressions

ResponseType = Literal["EM", "AM", "GE", "RE", "ME", "TE"]

TYPES: tuple[ResponseType, ...] = get_args(ResponseType)
"""In the order of tables and figures."""
NAMES: dict[ResponseType, str] = {
    "EM": "exact match",
    "AM": "answer match",
    "GE": "grounded-generation error",
    "RE": "reasoning error",
    "ME": "infrastructure failure",
    "TE": "tool-using error",
}
THRESHOLDS: dict[str, float] = {"strict": 0.5, "paper": 0.5, "published": 0.05}
"""By taxonomy, the score from which on an answer matches."""
EXPRESSIONS = frozenset({"covered_match", "covered_match_published"})
"""Metrics whose golds are expressions: what must have been observed are their operands."""
LONGEST = 30
"""Tokens of a gold up to which containment can judge it."""
LIMITS: frozenset[str] = frozenset({"steps", "tokens", "seconds", "calls", "context", "depth"})
"""Causes that name a limit; with the outcome `tool_misuse` they say that it was reached without one valid call."""

_UNSUPPORTED: dict[OutcomeKind, ResponseType] = {
    "finished": "RE",
    "gave_up": "RE",
    "exhausted": "RE",
    "tool_misuse": "TE",
    "tool_failure": "ME",
    "llm_failure": "ME",
    "cancelled": "ME",
}
_FUSED = str.maketrans("", "", "'.")
"""What may be deleted inside a word when ASCII text is cut into tokens, so that the letters around it meet."""


@dataclass(frozen=True, slots=True)
class Response:
    """The type of one episode, and what it rests on.

    Attributes:
        matched: The answer's score reaches the threshold.
        supported: The evidence holds the gold; under `paper`, the response.
        undecided: Containment could not judge; `supported` is then False.
        missing: The named evidence, or the golds, that no observation holds; empty where documents decided.
        retrieved: The share of the relevant documents that were found; None where that is not known, and under `paper`
            and `published`, which do not use it.
    """

    type: ResponseType
    matched: bool
    supported: bool
    undecided: bool = False
    missing: tuple[str, ...] = ()
    retrieved: float | None = None


def classify(
    episode: Episode,
    score: float,
    taxonomy: str = "strict",
    threshold: float | None = None,
    retrieved: float | None = None,
    metric: str = "",
    prompted: Sequence[str] = (),
) -> Response:
    """The response type of an episode.

    Args:
        score: Of the answer, 0 to 1; under `published`, that of the published F1.
        threshold: From which score on an answer matches; None takes the taxonomy's own.
        retrieved: The share of the relevant documents that its calls found, where these are known by their ids.
        metric: Of the score; the golds of one of EXPRESSIONS are expressions.
        prompted: Documents that a prompt held; see `documents_shown`.

    Raises:
        UserError: The taxonomy is unknown.
    """
    if taxonomy not in THRESHOLDS:
        raise UserError(f"unknown taxonomy {taxonomy!r}; known: {', '.join(THRESHOLDS)}")
    matched = score >= (THRESHOLDS[taxonomy] if threshold is None else threshold)
    found, wanted = _judged(episode, taxonomy, retrieved, metric in EXPRESSIONS, prompted)
    type_ = type_of(taxonomy, episode.outcome.kind, episode.outcome.cause, matched, bool(found))
    known = retrieved if taxonomy == "strict" else None
    return Response(type_, matched, bool(found), found is None, () if found else wanted, known)


def type_of(taxonomy: str, outcome: OutcomeKind, cause: str, matched: bool, supported: bool) -> ResponseType:
    """The cell of a taxonomy's table; `supported` as that taxonomy judges it."""
    if matched:
        return "EM" if supported else "AM"
    if supported:
        return "GE"
    if taxonomy == "published":
        is_halted = outcome == "exhausted" or (outcome == "tool_misuse" and cause in LIMITS)
        return "TE" if is_halted else "RE"
    return _UNSUPPORTED[outcome]


def unseen(episode: Episode, prompted: Sequence[str] = ()) -> tuple[str, ...]:
    """The evidence that the question names and that was not observed; `shown` is as for `classify`."""
    observed = _observed(episode, prompted)
    return tuple(text for text in episode.evidence if not observed.holds(text))


def documents_shown(episode: Episode, documents: Sequence[Document]) -> list[str]:
    """The texts of those documents, of all that came with the question, that some message held whole."""
    return [one.text for one in documents if one.text and any(one.text in sent.content for sent in episode.messages)]


def evidence_text(step: Step) -> str:
    """What a step shows of the environment's knowledge, "" where it shows none."""
    if step.kind != "call" or not step.observation or step.error not in (None, "not_found"):
        return ""
    text = step.observation
    if step.error == "not_found":
        for argument in _leaves(step.arguments or {}):
            text = re.sub(rf"(?<!\w){re.escape(argument)}(?!\w)", "\n", text, flags=re.IGNORECASE)
    return text


class Observed:
    """The observations of one episode, and whether they hold a text: in one of them, as whole tokens in a row."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [_Text(text) for text in texts]

    def holds(self, text: str) -> bool:
        """Whether some observation has the text."""
        return self._has_any(readings(text))

    def holds_gold(self, gold: str) -> bool | None:
        """Whether the observations have all values of a gold; None where containment cannot tell."""
        values, is_complete = _decidable(gold)
        if not all(map(self._has_any, values)):
            return False
        return True if values and is_complete else None

    def _has_any(self, wanted: tuple[TokenRow, ...]) -> bool:
        return any(text.holds(reading) for reading in wanted for text in self._texts)


class _Text:
    """One observation. Its tokens are cut when they are first needed, since most texts lack most golds."""

    def __init__(self, text: str) -> None:
        self._text = _unescaped(text)
        self._flat = self._text.lower().translate(_FUSED) if self._text.isascii() else None

    def holds(self, wanted: TokenRow) -> bool:
        if self._flat is not None and any(w.isascii() and w.isalpha() and w not in self._flat for w in wanted):
            return False
        row = f" {' '.join(wanted)} "
        return any(row in mine for mine in self._rows)

    @cached_property
    def _rows(self) -> list[str]:
        return [f" {' '.join(reading)} " for reading in readings(self._text)]


def _judged(
    episode: Episode, taxonomy: str, retrieved: float | None, are_expressions: bool, prompted: Sequence[str]
) -> tuple[bool | None, tuple[str, ...]]:
    """Whether the evidence holds what the taxonomy asks for (None where containment cannot tell), and what that is."""
    golds = tuple(episode.golds)
    if taxonomy == "published":
        return normalise_published("".join(golds[:1])) in normalise_published("\n".join(_scratchpad(episode))), golds[
            :1
        ]
    observed = _observed(episode, prompted)
    if taxonomy == "paper":
        return bool(episode.answer.strip()) and observed.holds_gold(episode.answer), (episode.answer,)
    if episode.evidence:
        missing = unseen(episode, prompted)
        return not missing, missing
    if retrieved is not None:
        return retrieved >= 1.0, ()
    found = [_holds_expression(gold, observed) if are_expressions else observed.holds_gold(gold) for gold in golds]
    return True if any(found) else None if None in found else False, golds


def _holds_expression(gold: str, observed: Observed) -> bool | None:
    """Whether the observations have what an expression asks for; None where containment cannot tell."""
    try:
        return _holds_tree(expressions.parse(gold), observed)
    except expressions.BadExpression:
        return observed.holds_gold(gold)


def _holds_tree(tree: expressions.Expression, observed: Observed) -> bool | None:
    if isinstance(tree, str):
        return observed.holds_gold(tree)
    sign, *parts = tree
    found = [_holds_tree(part, observed) for part in parts]
    decisive = sign == "|"  # one true part decides an "or", one false part an "and"
    return decisive if decisive in found else None if None in found else not decisive


def _scratchpad(episode: Episode) -> Iterator[str]:
    """Everything written on the way, in order: thoughts, calls, observations."""
    for step in episode.steps:
        if step.kind == "answer":
            continue
        yield step.text
        if step.kind == "call":
            yield f"{step.api}[{', '.join(_leaves(step.arguments or {}))}]"
        yield step.observation or ""


def _observed(episode: Episode, prompted: Sequence[str]) -> Observed:
    return Observed([*prompted, *filter(None, map(evidence_text, episode.steps))])


@lru_cache(maxsize=4096)
def _decidable(gold: str) -> tuple[tuple[tuple[TokenRow, ...], ...], bool]:
    """The values of a gold that containment can judge, as they read, and whether these are all of them."""
    values = gold_values(gold)
    decidable = [value for value in values if not _is_common(value) and len(tokens(value)) <= LONGEST]
    return tuple(map(readings, decidable)), len(decidable) == len(values)


def _is_common(value: str) -> bool:
    """Whether a value is in any longer text by chance: a verdict, an article, a small number, nothing."""
    found = tokens(value)
    if len(found) != 1:
        return not found
    return found[0] in WORDS | ARTICLES or (found[0].lstrip("-").isdigit() and len(found[0].lstrip("-")) <= 2)


def _unescaped(text: str) -> str:
    r"""JSON with its \u escapes resolved, so that "Andr\u00e9" is found; any other text as it is."""
    if "\\u" in text and text.lstrip()[:1] in ("[", "{"):
        try:
            return json.dumps(json.loads(text), ensure_ascii=False)
        except (ValueError, RecursionError):
            return text
    return text


def _leaves(data: object) -> Iterator[str]:
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, (list, tuple)):
        for value in data:
            yield from _leaves(value)
    elif data not in (None, ""):
        yield str(data)

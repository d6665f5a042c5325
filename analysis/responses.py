"""The six response types: what an episode's ending says about where it went wrong.

`strict` is the table of DESIGN section 4. An answer matches when its score reaches the threshold (0.5).
Evidence is what query APIs returned and nothing else:

- The observations of `call` steps that went through. A call that was refused (unknown API, bad arguments, a
  limit, a repetition, a failure of the environment) returned boilerplate. One that found nothing counts
  with the model's own arguments cut out, since "could not find X" holds X only because the model wrote it.
- Containment is of whole tokens in a row, after the normalisation of `metrics.normalise`.
- Where the question names its evidence, all of it must have been observed. Otherwise any gold must have
  been, and of a gold that joins values by ";" every value.
- Yes, no, true, false, numbers of up to two digits and empty golds are in any text by chance. Without named
  evidence they are `undecided`: counted as not supported, and flagged so that tables can say how many there
  were.

The published code starts from the same idea and differs in each point. `published` reproduces it to the
letter (`benchmark/error_analysis.py`): the reward is its own F1 and the threshold 0.05; the first gold is
looked for as a substring of characters in everything that the model and the tools wrote on the way; a wrong
answer that is not in there is TE if the loop was halted (our `exhausted`), ME if it was also stopped by an
LLM error (our `llm_failure`), and RE otherwise. An episode has one outcome, so that ME never occurs: nor
did it in the published logs, where no backend ever set the error flag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from r_eval.analysis.metrics.literals import gold_values
from r_eval.analysis.metrics.normalise import ARTICLES, has_camel, tokens
from r_eval.analysis.metrics.published import normalise_published
from r_eval.analysis.metrics.verdict import WORDS
from r_eval.errors import UserError
from r_eval.records import Episode, OutcomeKind, Step

ResponseType = Literal["EM", "AM", "GE", "RE", "ME", "TE"]
Taxonomy = Literal["strict", "published"]

TYPES: tuple[ResponseType, ...] = get_args(ResponseType)
"""In the order in which tables and figures show them."""

NAMES: dict[ResponseType, str] = {
    "EM": "exact match",
    "AM": "answer match",
    "GE": "grounded-generation error",
    "RE": "reasoning error",
    "ME": "machinery error",
    "TE": "tool-using error",
}
THRESHOLDS: dict[str, float] = {"strict": 0.5, "published": 0.05}

_UNSUPPORTED: dict[OutcomeKind, ResponseType] = {
    "finished": "RE",
    "gave_up": "RE",
    "exhausted": "RE",
    "tool_misuse": "TE",
    "tool_failure": "ME",
    "llm_failure": "ME",
    "cancelled": "ME",
}


@dataclass(frozen=True, slots=True)
class Response:
    """The type of one episode, and what it rests on.

    Attributes:
        matched: The answer's score reaches the threshold.
        supported: The evidence holds the gold.
        undecided: Containment could not judge; `supported` is then False.
        missing: The named evidence, or the golds, that no observation holds.
    """

    type: ResponseType
    matched: bool
    supported: bool
    undecided: bool = False
    missing: tuple[str, ...] = ()


def classify(episode: Episode, score: float, taxonomy: str = "strict", threshold: float | None = None) -> Response:
    """The response type of an episode.

    Args:
        score: Of the answer, 0 to 1; under `published`, the reward of the published F1.
        taxonomy: "strict" or "published".
        threshold: From which score on an answer matches; None takes the taxonomy's own.

    Raises:
        UserError: There is no such taxonomy.
    """
    if taxonomy == "published":
        return _published(episode, score >= (THRESHOLDS["published"] if threshold is None else threshold))
    if taxonomy == "strict":
        return _strict(episode, score >= (THRESHOLDS["strict"] if threshold is None else threshold))
    raise UserError(f"no taxonomy is called {taxonomy!r}; there are {' and '.join(THRESHOLDS)}")


def _strict(episode: Episode, matched: bool) -> Response:
    observed = Observed([text for step in episode.steps if (text := evidence_text(step))])
    undecided = False
    if episode.evidence:
        missing = tuple(text for text in episode.evidence if not observed.holds(text))
        supported = not missing
    else:
        judged = [_gold_observed(gold, observed) for gold in episode.golds]
        supported = any(judged)
        undecided = not supported and None in judged
        missing = () if supported else tuple(episode.golds)
    type_ = _type(episode.outcome.kind, matched, supported)
    return Response(type_, matched, supported, undecided, missing)


def _type(outcome: OutcomeKind, matched: bool, supported: bool) -> ResponseType:
    if supported:
        return "EM" if matched else "GE"
    return "AM" if matched else _UNSUPPORTED[outcome]


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
    """The observations of one episode, to be asked what they hold.

    A text is looked for in one observation at a time, as whole tokens in a row.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        texts = [_unescaped(text) for text in texts]
        self._seen = [_padded(text) for text in texts]
        self._seen += [_padded(text, camel=True) for text in texts if has_camel(text)]

    def holds(self, text: str) -> bool:
        """Whether some observation has the text."""
        plain = _padded(text)
        if not plain.strip():
            return False
        wanted = {plain, _padded(text, camel=True)}
        return any(reading in seen for seen in self._seen for reading in wanted)


def _gold_observed(gold: str, observed: Observed) -> bool | None:
    """Whether the observations hold all values of a gold; None where containment cannot tell."""
    values = gold_values(gold)
    decidable = [value for value in values if not _by_chance(value)]
    if not all(observed.holds(value) for value in decidable):
        return False
    return True if decidable and len(decidable) == len(values) else None


def _by_chance(value: str) -> bool:
    """Whether a value is in any longer text by chance: a verdict, an article, a small number, nothing."""
    found = tokens(value)
    if len(found) != 1:
        return not found
    return found[0] in WORDS | ARTICLES or (found[0].lstrip("-").isdigit() and len(found[0].lstrip("-")) <= 2)


def _padded(text: str, camel: bool = False) -> str:
    return f" {' '.join(tokens(text, camel))} "


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


def _published(episode: Episode, matched: bool) -> Response:
    gold = normalise_published(episode.golds[0] if episode.golds else "")
    supported = gold in normalise_published("\n".join(_scratchpad(episode)))
    if supported:
        type_: ResponseType = "EM" if matched else "GE"
    elif matched:
        type_ = "AM"
    else:
        type_ = "TE" if episode.outcome.kind == "exhausted" else "RE"
    return Response(type_, matched, supported, missing=() if supported else tuple(episode.golds[:1]))


def _scratchpad(episode: Episode) -> Iterator[str]:
    """Everything written on the way, in order: thoughts, calls, observations."""
    for step in episode.steps:
        if step.kind == "answer":
            continue
        yield step.text
        if step.kind == "call":
            yield f"{step.api}[{', '.join(_leaves(step.arguments or {}))}]"
        yield step.observation or ""

"""One episode as a person reads it in a terminal: its steps, where its evidence was found, its tree, its outcome.

What a model or a tool wrote is shown as text, never as markup, and control characters in it are made visible.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from r_eval.records import Episode, Step

LONGEST = 4000
"""Characters of a text that are shown unless all are wanted."""
INDENT = " " * 6


class _Signs(dict[int, str | int]):
    """Translation table, filled as characters are met: what acts on a terminal becomes a visible sign."""

    def __missing__(self, code: int) -> str | int:
        acts = unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp") and chr(code) not in "\n\t"
        self[code] = (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}") if acts else code
        return self[code]


_SIGNS = _Signs()


def harmless(text: str, longest: int | None = LONGEST) -> str:
    """Text without anything that acts on a terminal: control and direction characters become visible signs.

    Args:
        longest: Characters after which it is cut, with a note on how many are left out; None cuts nothing.
    """
    if longest is None or len(text) <= longest:
        return text.translate(_SIGNS)
    return f"{text[:longest].translate(_SIGNS)} [… {len(text) - longest:,} more characters]"


def transcript(
    episode: Episode, score: Mapping[str, Any] | None, full: bool = False, with_messages: bool = False
) -> Text:
    """The whole episode: head, steps, tree, outcome.

    Args:
        score: Its score record, where there is one.
        full: Show long texts whole.
        with_messages: Show before each reply the messages that it answers.
    """
    from r_eval.analysis.metrics.literals import gold_values
    from r_eval.analysis.tree import drawing

    longest = None if full else LONGEST
    text = Text()
    head = f"{episode.episode_id}  {episode.system}  {episode.task}  {episode.condition}"
    text.append(f"{harmless(head)}\n", "bold")
    labels = {"question": [episode.question], "gold": episode.golds, "evidence": episode.evidence}
    for label, values in labels.items():
        if values:
            text.append(f"{label:<10}", "dim").append(f"{harmless(' | '.join(values), longest)}\n")
    text.append("\n")
    wanted = episode.evidence or [value for gold in episode.golds for value in gold_values(gold)]
    seen: dict[str, list[int]] = {one: [] for one in wanted}
    printed: set[int] = set()
    for number, step in enumerate(episode.steps, 1):
        found = _found(step, list(seen), named=bool(episode.evidence))
        for one in found:
            seen[one].append(number)
        if with_messages and step.request:
            _messages(text, episode, step, printed, longest)
        _step(text, number, step, found, longest)
    drawn = drawing(episode.steps)
    if drawn:
        text.append("\nthe search as a tree\n", "bold")
        text.append(_indented(harmless(drawn, None)))
    _outcome(text, episode, score, seen, longest)
    return text


def print_transcript(console: Console, text: Text) -> None:
    """Print a transcript: in a terminal lines are broken between words and stay indented, elsewhere they stay whole."""
    if not console.is_terminal:
        console.print(text, soft_wrap=True, end="")
        return
    for line in text.split("\n", allow_blank=True)[:-1]:
        own = len(line.plain) - len(line.plain.lstrip(" "))
        below = max(own, len(INDENT))
        for number, piece in enumerate(line[own:].wrap(console, max(20, console.width - below))):
            piece.rstrip()
            piece.pad_left(below if number else own)
            console.print(piece, soft_wrap=True)


def _found(step: Step, wanted: Sequence[str], named: bool) -> list[str]:
    """The evidence that a step's observation holds, by the rule of the response types."""
    from r_eval.analysis.response_types import Observed, evidence_text

    text = evidence_text(step)
    if not text:
        return []
    observed = Observed([text])
    return [one for one in wanted if (observed.holds(one) if named else observed.holds_gold(one))]


def _messages(text: Text, episode: Episode, step: Step, printed: set[int], longest: int | None) -> None:
    """The messages that a reply answers; those that an earlier one answered already are only counted."""
    sent = [place for place in step.request if place < len(episode.messages)]
    new = [place for place in sent if place not in printed]
    again = f", {len(sent) - len(new)} of them as before" if len(new) < len(sent) else ""
    text.append(f"{INDENT}sent {len(sent)} messages{again}\n", "magenta")
    for place in new:
        printed.add(place)
        message = episode.messages[place]
        head = " ".join(filter(None, [f"[{place}]", message.role, message.name, message.call_id]))
        calls = [json.dumps(call, ensure_ascii=False) for call in message.calls]
        text.append(f"{INDENT}{harmless(head)}\n", "bold magenta")
        text.append(_indented(harmless("\n".join(filter(None, [message.content, *calls])), longest)))


def _step(text: Text, number: int, step: Step, found: Sequence[str], longest: int | None) -> None:
    notes = [] if step.depth is None else [f"depth {step.depth}"]
    notes += [harmless(step.error)] if step.kind == "thought" and step.error else []
    notes += [f"{step.tokens.prompt:,} + {step.tokens.completion:,} tokens"] if step.tokens else []
    notes += [f"{step.seconds:.2f} s"] if step.seconds >= 0.005 else []
    notes += ["replayed"] if step.replayed else []
    text.append(f"{number:>3} {step.kind}", "bold cyan" if step.kind == "answer" else "bold")
    text.append(f" ({', '.join(notes)})  " if notes else "  ", "dim")
    if step.kind == "call":
        arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in (step.arguments or {}).items())
        text.append(f"{harmless(step.api or '')}({harmless(arguments, longest)})", "cyan")
        text.append(f"  {harmless(step.error)}\n" if step.error else "\n", "red")
        body = Text(_indented(harmless(step.observation or "", longest)), "dim")
        body.highlight_words([harmless(one, None) for one in found if one], "not dim bold green", case_sensitive=False)
        text.append_text(body)
        for one in found:
            text.append(f"{INDENT}^ holds {harmless(one, 200)}\n", "green")
    elif step.kind == "answer" and step.error:
        text.append("none\n", "red")
    else:
        text.append(_indented(harmless(step.text, longest)).lstrip() or "(nothing)\n")
    if step.reasoning:
        text.append(_indented(f"reasoning: {harmless(step.reasoning, longest)}"), "dim italic")


def _indented(body: str) -> str:
    return "".join(f"{INDENT}{line}\n" for line in body.split("\n")) if body else ""


def _outcome(
    text: Text,
    episode: Episode,
    score: Mapping[str, Any] | None,
    seen: Mapping[str, Sequence[int]],
    longest: int | None,
) -> None:
    """How the episode ended, its score and why, and what it used."""
    from r_eval.analysis.causes import CAUSES
    from r_eval.analysis.response_types import NAMES

    outcome, usage, seconds = episode.outcome, episode.usage, episode.seconds
    text.append(f"\n{outcome.kind}", "bold")
    text.append(harmless(f" {outcome.cause} {outcome.detail}", longest).rstrip() + "\n")
    text.append(_indented(harmless(outcome.traceback, longest)), "red")
    if score is not None:
        value = "no score" if score["score"] is None else f"{score['metric']} {100 * score['score']:.1f}"
        kind = score["response_type"]
        undecided = " (undecided)" if score["undecided"] else ""
        text.append(f"{harmless(value)}, response type {kind} ({NAMES.get(kind, kind)}){undecided}\n")
        if why := score.get("cause"):
            text.append(f"cause: {harmless(CAUSES.get(why, why))} ({harmless(why)})\n")
    for one, steps in seen.items():
        where = f"in step {', '.join(map(str, steps))}" if steps else "in no observation"
        text.append(f"evidence {where}: {harmless(one, 200)}\n")
    cost = "" if usage.cost is None else f"{usage.cost:.4g} USD, "
    text.append(
        f"{usage.calls} LLM calls, {usage.prompt_tokens:,} prompt tokens ({usage.cached_tokens:,} cached), "
        f"{usage.completion_tokens:,} completion tokens, {cost}"
        f"{seconds.total:.2f} s ({seconds.llm:.2f} s in the LLM)\n",
        "dim",
    )

"""One episode as a person reads it in a terminal: its steps, where its evidence was found, its tree, how it ended.

What a model or a tool wrote is shown as text, never as markup, and control characters in it are made visible.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from r_eval.analysis.tree import drawing
from r_eval.records import Episode, Step

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from r_eval.analysis.responses import ResponseType

LONGEST = 4000
"""Characters of a text that are shown, where not all are asked for."""
AROUND = 40
"""Characters on each side of evidence that lies beyond what is shown."""
INDENT = 6
Found = dict[str, list[tuple[int, int]]]
"""Evidence that an observation holds, with its places there; none where only that it is there is known."""


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
        longest: Characters after which it is cut, with a word on how many are left out; None cuts nothing.
    """
    if longest is None or len(text) <= longest:
        return text.translate(_SIGNS)
    return f"{text[:longest].translate(_SIGNS)} {_more(len(text) - longest)}"


def _more(left: int) -> str:
    return f"[… {left:,} more characters; --full shows them]"


def transcript(episode: Episode, score: dict[str, Any] | None, full: bool = False) -> Text:
    """The whole episode: head, steps, tree, end.

    Args:
        score: Its score record, where there is one.
        full: Show long texts whole.
    """
    from rich.text import Text

    longest = None if full else LONGEST
    text = Text()
    head = f"{episode.episode_id}  {episode.system}  {episode.task}  {episode.condition}"
    text.append(f"{harmless(head)}\n", "bold")
    _labelled(text, "question", episode.question, longest)
    _labelled(text, "gold", " | ".join(episode.golds), longest)
    if episode.evidence:
        _labelled(text, "evidence", " | ".join(episode.evidence), longest)
    text.append("\n")
    seen: dict[str, list[int]] = {wanted: [] for wanted in _wanted(episode)}
    for number, step in enumerate(episode.steps, 1):
        found = _found(step, seen, named=bool(episode.evidence))
        for wanted in found:
            seen[wanted].append(number)
        _step(text, number, step, found, longest)
    drawn = drawing(episode.steps)
    if drawn:
        text.append("\nthe search as a tree\n", "bold")
        text.append("".join(f"{' ' * INDENT}{harmless(line)}\n" for line in drawn.splitlines()))
    _ending(text, episode, score, seen, longest)
    return text


def print_whole(console: Console, text: Text) -> None:
    """Print a transcript: in a terminal lines are broken between words and stay indented, elsewhere they stay whole."""
    if not console.is_terminal:
        console.print(text, soft_wrap=True)
        return
    for line in text.split("\n", allow_blank=True)[:-1]:
        if len(line) <= console.width and line.cell_len <= console.width:
            console.print(line, soft_wrap=True)
            continue
        own = len(line.plain) - len(line.plain.lstrip(" "))
        under = max(own, INDENT)
        width = max(20, console.width - under)
        first, *rest = line[own:].wrap(console, width)
        for indent, piece in ((own, first), *((under, piece) for piece in rest)):
            piece.rstrip()
            piece.pad_left(indent)
            console.print(piece, soft_wrap=True)


def _labelled(text: Text, label: str, said: str, longest: int | None) -> None:
    text.append(f"{label:<10}", "dim")
    text.append(f"{harmless(said, longest)}\n")


def _wanted(episode: Episode) -> list[str]:
    """What the observations should hold: the named evidence, or the values of the golds."""
    from r_eval.analysis.metrics.literals import gold_values

    values = episode.evidence or [value for gold in episode.golds for value in gold_values(gold)]
    return list(dict.fromkeys(values))


def _found(step: Step, wanted: Sequence[str] | dict[str, list[int]], named: bool) -> Found:
    """The evidence that a step's observation holds, by the rule of the response types, and where."""
    from r_eval.analysis.places import Places
    from r_eval.analysis.responses import Observed, evidence_text

    shown = evidence_text(step)
    if not shown:
        return {}
    observed = Observed([shown])
    held = [one for one in wanted if (observed.holds(one) if named else observed.holds_gold(one))]
    places = Places(step.observation or "")
    return {one: places.of(one) for one in held}


def _step(text: Text, number: int, step: Step, found: Found, longest: int | None) -> None:
    text.append(f"{number:>3} {step.kind}", "bold cyan" if step.kind == "answer" else "bold")
    notes = _notes(step)
    text.append(f" ({notes})  " if notes else "  ", "dim")
    if step.kind == "call":
        arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in (step.arguments or {}).items())
        text.append(f"{harmless(step.api or '')}({harmless(arguments, longest)})", "cyan")
        text.append(f"  {harmless(step.error)}\n" if step.error else "\n", "red")
        _observation(text, step.observation or "", found, longest)
    elif step.kind == "answer" and step.error:
        text.append("none\n", "red")
    else:
        text.append(_indented(harmless(step.text, longest)).lstrip() or "(nothing)\n")
    if step.reasoning:
        text.append(_indented(f"reasoning: {harmless(step.reasoning, longest)}"), "dim italic")


def _notes(step: Step) -> str:
    """What stands behind a step's kind: its place in a tree, what is wrong with it, what it took."""
    notes = [] if step.depth is None else [f"depth {step.depth}"]
    notes += [harmless(step.error)] if step.kind == "thought" and step.error else []
    notes += [f"{step.tokens.prompt:,} + {step.tokens.completion:,} tokens"] if step.tokens else []
    notes += [f"{step.seconds:.2f} s"] if step.seconds >= 0.005 else []
    return ", ".join(notes)


def _observation(text: Text, observation: str, found: Found, longest: int | None) -> None:
    """An observation, with the evidence in it marked, and below it a line for each text that it holds."""
    from rich.text import Text as Part

    end = len(observation) if longest is None else min(longest, len(observation))
    body, at = Part(style="dim"), 0
    for start, stop in sorted({span for spans in found.values() for span in spans}):
        if start < at or stop > end:
            continue
        body.append(harmless(observation[at:start], None))
        body.append(harmless(observation[start:stop], None), "not dim bold green")
        at = stop
    body.append(harmless(observation[at:end], None))
    if end < len(observation):
        body.append(f" {_more(len(observation) - end)}")
    for line in body.split("\n", allow_blank=True) if observation else ():
        text.append(" " * INDENT).append_text(line).append("\n")
    for wanted, spans in found.items():
        text.append(f"{' ' * INDENT}^ holds {harmless(wanted, 200)}{_beyond(observation, spans, end)}\n", "green")


def _beyond(observation: str, spans: Sequence[tuple[int, int]], end: int) -> str:
    """Where evidence lies of which nothing is shown."""
    if not spans or spans[0][1] <= end:
        return ""
    start, stop = spans[0]
    around = " ".join(observation[max(0, start - AROUND) : stop + AROUND].split())
    return f", at character {start + 1:,}: … {harmless(around, 400)} …"


def _indented(shown: str) -> str:
    return "".join(f"{' ' * INDENT}{line}\n" for line in shown.split("\n")) if shown else ""


def _ending(
    text: Text, episode: Episode, score: dict[str, Any] | None, seen: dict[str, list[int]], longest: int | None
) -> None:
    """How the episode ended, what that was worth and why, and what it took."""
    outcome = episode.outcome
    text.append(f"\n{outcome.kind}", "bold")
    text.append(harmless(f" {outcome.cause} {outcome.detail}", longest).rstrip() + "\n")
    if score is not None:
        _scored(text, score)
    for wanted, steps in seen.items():
        where = f"in step {', '.join(map(str, steps))}" if steps else "in no observation"
        text.append(f"evidence {where}: {harmless(wanted, 200)}{_by_chance(episode, wanted)}\n")
    usage, seconds = episode.usage, episode.seconds
    cost = "" if usage.cost is None else f"{usage.cost:.4g} USD, "
    text.append(
        f"{usage.calls} LLM calls, {usage.prompt_tokens:,} prompt tokens ({usage.cached_tokens:,} cached), "
        f"{usage.completion_tokens:,} completion tokens, {cost}"
        f"{seconds.total:.2f} s ({seconds.llm:.2f} s in the LLM)\n",
        "dim",
    )


def _by_chance(episode: Episode, wanted: str) -> str:
    """A word on golds that are in any text by chance, and so no evidence."""
    from r_eval.analysis.metrics.normalise import tokens
    from r_eval.analysis.responses import LONGEST, Observed

    by_chance = not episode.evidence and Observed([]).holds_gold(wanted) is None and len(tokens(wanted)) <= LONGEST
    return " (in any text by chance, so that it proves nothing)" if by_chance else ""


def _scored(text: Text, score: dict[str, Any]) -> None:
    from r_eval.analysis.causes import CAUSES
    from r_eval.analysis.responses import NAMES

    type_: ResponseType = score["response_type"]
    value = "no score" if score["score"] is None else f"{score['metric']} {100 * score['score']:.1f}"
    undecided = " (undecided)" if score["undecided"] else ""
    text.append(f"{harmless(value)}, response type {type_} ({NAMES[type_]}){undecided}\n")
    if why := score.get("why"):
        text.append(f"cause: {harmless(CAUSES.get(why, why))} ({harmless(why)})\n")

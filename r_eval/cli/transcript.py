"""One episode as a person reads it in a terminal. What a model or a tool wrote is shown as text, never as markup,
and control characters in it are made visible.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING, Any

from r_eval.analysis.tree import drawing
from r_eval.records import Episode, Step

if TYPE_CHECKING:
    from rich.text import Text

LONGEST = 4000


def harmless(text: str) -> str:
    """Text without anything that acts on a terminal: control and direction characters become visible signs."""
    shown = "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else f"\\u{ord(c):04x}" for c in text
    )
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} [… {len(shown) - LONGEST:,} more characters]"


def transcript(episode: Episode, score: dict[str, Any] | None) -> Text:
    """The whole episode: head, steps, end."""
    from rich.text import Text

    text = Text()
    head = f"{episode.episode_id}  {episode.system}  {episode.task}  {episode.condition}"
    text.append(f"{harmless(head)}\n", "bold")
    text.append("question  ", "dim")
    text.append(f"{harmless(episode.question)}\n")
    text.append("gold      ", "dim")
    text.append(f"{harmless(' | '.join(episode.golds))}\n\n")
    for number, step in enumerate(episode.steps, 1):
        _step(text, number, step)
    drawn = drawing(episode.steps)
    if drawn:
        text.append("\nthe search as a tree\n", "bold")
        text.append("".join(f"      {harmless(line)}\n" for line in drawn.splitlines()))
    outcome = episode.outcome
    text.append(f"\n{outcome.kind}", "bold")
    text.append(harmless(f" {outcome.cause} {outcome.detail}").rstrip() + "\n")
    if score is not None:
        value = "no score" if score["score"] is None else f"{score['metric']} {100 * score['score']:.1f}"
        undecided = " (undecided)" if score["undecided"] else ""
        text.append(f"{harmless(value)}, response type {score['response_type']}{undecided}\n")
    usage, seconds = episode.usage, episode.seconds
    text.append(
        f"{usage.calls} LLM calls, {usage.prompt_tokens:,} prompt tokens ({usage.cached_tokens:,} cached), "
        f"{usage.completion_tokens:,} completion tokens, {seconds.total:.2f} s ({seconds.llm:.2f} s in the LLM)\n",
        "dim",
    )
    return text


def _step(text: Text, number: int, step: Step) -> None:
    depth = "" if step.depth is None else f" (depth {step.depth})"
    note = f" ({harmless(step.error)})" if step.kind == "thought" and step.error else ""
    text.append(f"{number:>3} {step.kind}{depth}{note}  ", "bold cyan" if step.kind == "answer" else "bold")
    if step.kind == "call":
        arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in (step.arguments or {}).items())
        text.append(f"{harmless(step.api or '')}({harmless(arguments)})", "cyan")
        text.append(f"  {harmless(step.error)}\n" if step.error else "\n", "red")
        text.append(_indented(step.observation or ""), "dim")
    elif step.kind == "answer" and step.error:
        text.append("none\n", "red")
    else:
        text.append(_indented(step.text).lstrip())


def _indented(content: str) -> str:
    return "".join(f"      {line}\n" for line in harmless(content).splitlines()) or "\n"

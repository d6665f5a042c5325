"""A run in which every text that a model, a tool or a file could write tries to become part of the page.

What runs sets `window.hacked`; what loads asks `outside.invalid`.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from r_eval.folder import Cell, RunFolder
from r_eval.records import SCHEMA, Episode, Outcome, OutcomeKind, Question, Seconds, Step, Tokens, Usage
from tests.analysis.report.makers import place, write_run

MEGABYTE = 1 << 20

TEXTS: dict[str, str] = {
    "script": "<script>window.hacked = 'script'</script>",
    "image": "<img src=x onerror=\"window.hacked = 'image'\">",
    "svg": '<svg onload="window.hacked = \'svg\'"><a xlink:href="javascript:window.hacked=1"><text>x</text></a></svg>',
    "link": "<a href=\"javascript:window.hacked='link'\">open</a> [or](javascript:window.hacked=2) javascript:alert(3)",
    "frame": "<iframe srcdoc=\"<script>parent.hacked = 'frame'</script>\"></iframe>",
    "refresh": '<meta http-equiv="refresh" content="0; url=https://outside.invalid/">',
    "style": "<style>body { display: none }</style><link rel=stylesheet href=https://outside.invalid/a.css>",
    "ends": "</script></title></textarea></style>--></svg><script>window.hacked = 'ends'</script>",
    "template": "${window.hacked = 1} {{constructor.constructor('window.hacked = 2')()}} <%= 3 %> `${4}`",
    "quotes": "\"'><b onmouseover=window.hacked=1 style=position:fixed;inset:0>&lt;i&gt; &#60;u&#62; &amp; %3Ci%3E",
    "pattern": "(a+)+$ [z-a] \\1 ^.* ?<!x",
    "ansi": "\x1b[31mred\x1b[0m \x1b]8;;https://outside.invalid\x07there\x1b]8;;\x07 \x1b[2J\x08\x7f\x9b31m",
    "bidi": "user \u202e\u2066// nimda\u2069 \u2066gnp.exe \u200f\u200e\u061c end",
    "unicode": "nul \x00 not \ufffe\uffff mark \ufeff lines \u2028\u2029 \x85 zero \u200b tag \U000e0041 lost \ufffd",
    "marks": "Z" + "\u0301\u0316" * 300,
    "family": "\U0001f469\u200d\U0001f469\u200d\U0001f467 flag \U0001f3f4\U000e0067\U000e0062\U000e007f",
    "prototype": "__proto__",
    "unbroken": "verylongword" * 300,
}

SYSTEMS = [
    (f"react {TEXTS['script']}", f"{TEXTS['image']}/llm"),
    ("constructor", "__proto__"),
    (f"dfsdt {TEXTS['bidi']}", "toString"),
    ("react", f"vendor/{'m' * 120}"),
    ("oracle", "none"),
]
CONDITIONS = ("clean", f"noisy {TEXTS['svg']}")
TASKS: list[dict[str, Any]] = [
    {"name": f"wiki/{TEXTS['image']}", "id": TEXTS["script"], "title": TEXTS["ends"], "domain": "wiki", "level": "KS"},
    {"name": "toString", "id": "__proto__", "title": TEXTS["quotes"], "domain": "__proto__", "level": "KU"},
    {"name": "a b&c=d#e?f/../g%3C", "id": "3-1", "title": TEXTS["link"], "domain": TEXTS["link"], "level": "KA"},
]
ENDINGS: tuple[tuple[OutcomeKind, str], ...] = (
    *(("finished", ""), ("finished", ""), ("exhausted", "steps")),
    *(("tool_misuse", TEXTS["script"]), ("llm_failure", TEXTS["image"])),
)


def hostile(path: Path) -> RunFolder:
    """Every hostile text as question, gold, evidence, reply, argument, observation, answer, error and name."""
    named = [{**task, "metric": "token_f1"} for task in TASKS]
    more = {
        "name": f"run {TEXTS['script']}",
        "versions": {f"r-eval {TEXTS['image']}": TEXTS["quotes"], "__proto__": "1"},
        "budget": [{"text": f"the budget {TEXTS['script']} is used up"}],
    }
    return write_run(path, SYSTEMS, named, len(TEXTS), episode, CONDITIONS, question, **more)


def question(task: dict[str, Any], number: int, rng: random.Random) -> Question:
    """One question a text."""
    key, text = list(TEXTS.items())[number]
    return Question(
        id=f"{key} {text[:200]}",
        question=f"TaskInput: {text}",
        answers=[text, "Lake Turkana"],
        level=task["level"],
        program=text,
        evidence=[text] if number % 3 == 0 else [],
        meta={"template": text, "popularity": text, text[:20]: text},
    )


def episode(cell: Cell, task: dict[str, Any], asked: Question, rng: random.Random) -> Episode:
    """Right in every second place; react writes and observes 1 MB in one place."""
    text = asked.answers[0]
    kind, cause = rng.choice(ENDINGS)
    huge = (cell.workflow[:5], cell.condition, cell.task, text) == ("react", "clean", TASKS[0]["name"], TEXTS["script"])
    long = (text * (MEGABYTE // len(text) + 1))[:MEGABYTE] if huge else text
    right = rng.random() < 0.5
    answer = text if right else f"{long} or something else"
    depth = 0 if cell.workflow.startswith("dfsdt") else None

    def call(api: str, arguments: dict[str, Any] | None, observation: str, error: str | None = None) -> Step:
        return Step(kind="call", api=api, arguments=arguments, observation=observation, error=error, depth=depth)

    tokens = Tokens(prompt=10, completion=5)
    steps = [
        Step(kind="thought", text=f"Thought: {text}", reasoning=long, tokens=tokens, depth=depth),
        call(text, {text: text, "__proto__": {"hacked": [text]}}, long),
        call("Search", {"entity": text}, f"It is {text}, or Lake Turkana."),
        Step(kind="thought", text=text, error="length", depth=None if depth is None else 1),
        call("toString", None, text, "constructor"),
        Step(kind="observation", text=f"The workflow says {text}"),
        Step(kind="answer", text=answer, error=None if right else "unparsed"),
    ]
    return Episode(
        schema=SCHEMA,
        **place(cell, task, asked),
        question=asked.question,
        evidence=asked.evidence,
        answer=answer,
        outcome=Outcome(kind=kind, cause=cause, detail=f"Detail {text}"),
        steps=steps,
        usage=Usage(calls=2, prompt_tokens=20, completion_tokens=10, cost=None),
        seconds=Seconds(total=rng.random() * 9 + 0.1),
    )

"""Makes run folders for the report: a small one, and a large one of 21 systems x 12 tasks x 100 questions.

Episodes look like what the workflows record: replies with tokens and seconds, calls with observations, a tree where
the workflow searches, endings of every kind. The same seed gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from r_eval.folder import Cell, CellWriter, RunFolder
from r_eval.records import Episode, Outcome, OutcomeKind, Question, Seconds, Step, Tokens, Usage

Make = Callable[[Cell, dict[str, Any], Question, random.Random], Episode]

WORKFLOWS = {"react": (0.55, 9.0), "pal": (0.62, 3.2), "dfsdt": (0.45, 41.0), "fc": (0.66, 6.5)}
"""Skill and mean seconds."""
BASELINE = (0.25, 0.6)
LLMS = {
    "gguf/smollm2-135m": 0.4,
    "gguf/qwen2.5-1.5b-instruct": 0.62,
    "openai/gpt-4o-mini": 0.95,
    "openai/gpt-4.1": 1.15,
    "vendor/mixtral-8x7b": 0.8,
}
"""How much each makes of a workflow's skill."""
LEVELS = {"KS": 1.0, "KU": 0.85, "KA": 0.65}
NAMES = ("facts", "profiles", "lists", "joins", "counts", "comparisons")
TASKS: list[dict[str, Any]] = [
    {
        "name": f"{domain}/{name}",
        "id": f"{1 + place // 2}-{1 + place % 2}",
        "title": f"{name.capitalize()} of the {domain}",
        "domain": domain,
        "level": list(LEVELS)[place // 2],
        "metric": "token_f1",
    }
    for domain in ("wiki", "aminer")
    for place, name in enumerate(NAMES)
]
GOLDS = ("Lake Turkana", "Mombasa", "Grace Ogot", "1963", "Grace Ogot;Wangari Maathai", "yes", "Bernoulli Naive Bayes")
TEXT = (
    "river north first crossed early party known for its mills and of the in which was later named after a town whose "
    "people traded salt with coast caravans until railway reached plateau where scholars founded society that printed "
    "journal about grammar botany"
)
WORDS = TEXT.split()
FAILURES: tuple[tuple[OutcomeKind, str], ...] = (
    *(("gave_up", "give_up"), ("exhausted", "steps"), ("exhausted", "context")),
    *(("tool_misuse", "unknown_api"), ("tool_misuse", "syntax")),
)
BROKEN: tuple[tuple[OutcomeKind, str], ...] = (("llm_failure", "timeout"), ("tool_failure", "server"))


def small(path: Path, questions: int = 12) -> RunFolder:
    """Four workflows, two LLMs and the oracle, four tasks of two domains; one cell stopped by its machinery."""
    llms = ("gguf/smollm2-135m", "openai/gpt-4o-mini")
    return write_run(path, systems(llms), [TASKS[place] for place in (0, 4, 6, 10)], questions, episode)


def large(path: Path, questions: int = 100) -> RunFolder:
    """21 systems x 12 tasks: 25,200 episodes, or as many questions a task as asked for."""
    return write_run(path, systems(tuple(LLMS)), TASKS, questions, episode)


def systems(llms: tuple[str, ...]) -> list[tuple[str, str]]:
    """Every workflow with every LLM, and the oracle."""
    return [(workflow, llm) for workflow in WORKFLOWS for llm in llms] + [("oracle", "none")]


def write_run(
    path: Path,
    pairs: list[tuple[str, str]],
    tasks: list[dict[str, Any]],
    questions: int,
    make: Make,
    conditions: tuple[str, ...] = ("clean",),
    ask: Callable[[dict[str, Any], int, random.Random], Question] | None = None,
    **more: Any,
) -> RunFolder:
    """Write a run: its questions, its episodes cell by cell, and run.json.

    Args:
        pairs: Workflow and LLM of each system.
        more: Further keys of run.json.
    """
    rng = random.Random(0)
    run = RunFolder(path)
    asked = {task["name"]: [(ask or question)(task, number, rng) for number in range(questions)] for task in tasks}
    for name, found in asked.items():
        writer = CellWriter(run.questions_file(name))
        for one in found:
            writer.append(one.model_dump_json())
        writer.close()
    cells = [Cell(*pair, condition, task["name"]) for pair in pairs for condition in conditions for task in tasks]
    by_name = {task["name"]: task for task in tasks}
    for cell in cells:
        writer = CellWriter(cell.path(run.episodes_root))
        for one in asked[cell.task]:
            writer.append(make(cell, by_name[cell.task], one, rng).model_dump_json(by_alias=True))
        writer.close()
    own = [{**task, "questions": questions} for task in tasks]
    write_manifest(run, own, [{**cell._asdict(), "episodes": questions, "fingerprint": "f"} for cell in cells], **more)
    return run


def write_manifest(run: RunFolder, tasks: list[dict[str, Any]], cells: list[dict[str, Any]], /, **more: Any) -> None:
    """Write the run.json of a run of these cells; `more` are further keys of it."""
    systems = dict.fromkeys((cell["workflow"], cell["llm"]) for cell in cells)
    manifest = {
        **{"schema": 1, "name": run.path.name, "state": "complete", "seed": 0, "grid": {}},
        **{"created": "2026-03-04T09:30:00+00:00", "updated": "2026-03-04T09:41:12+00:00"},
        "versions": {"r-eval": "0.1.0", "python": "3.11.7"},
        "systems": [
            {"name": f"{workflow}+{llm}", "workflow": workflow, "llm": llm, "reference": workflow == "oracle"}
            for workflow, llm in systems
        ],
        "tasks": tasks,
        "conditions": list(dict.fromkeys(cell["condition"] for cell in cells)),
        "cells": cells,
        **more,
    }
    run.path.mkdir(parents=True, exist_ok=True)
    run.run_file.write_text(json.dumps(manifest), encoding="utf-8")


def question(task: dict[str, Any], number: int, rng: random.Random) -> Question:
    """A question; every three share a template, and half of them name their evidence."""
    gold = rng.choice(GOLDS)
    return Question(
        id=f"{task['name'].replace('/', '-')}-{number}",
        question=f"Which {task['name'].partition('/')[2]} lie {' '.join(rng.sample(WORDS, 6))}?",
        answers=[gold],
        level=task["level"],
        program="answer = Search(entity='Kenya')",
        evidence=gold.split(";") if number % 2 else [],
        meta={"template": f"template-{number // 3}"},
    )


def place(cell: Cell, task: dict[str, Any], asked: Question) -> dict[str, Any]:
    """What an episode says of the cell and the question that it is of."""
    id_ = hashlib.blake2b("\0".join((*cell, asked.id)).encode("utf-8"), digest_size=8).hexdigest()
    own = {"episode_id": id_, "question_id": asked.id, "level": asked.level, "golds": asked.answers}
    return {**cell._asdict(), **own, "domain": task["domain"]}


def episode(cell: Cell, task: dict[str, Any], asked: Question, rng: random.Random) -> Episode:
    """What a system of this skill may have done with the question."""
    right, seen, outcome = _fate(cell, task, rng)
    gold = asked.answers[0]
    answer = gold if right else rng.choice([f"{gold} and others", " ".join(rng.sample(WORDS, 3)), "Nakuru"])
    steps = list(_steps(cell, gold if seen else "", rng))
    if outcome.kind == "finished":
        steps.append(Step(kind="answer", text=answer, observation="finish"))
    calls = sum(step.kind == "thought" for step in steps)
    thinking = sum(step.seconds for step in steps if step.kind == "thought")
    acting = sum(step.seconds for step in steps if step.kind == "call")
    queue = round(rng.expovariate(5), 3)
    price = 0.0002 * calls if cell.llm.startswith("openai/") else None
    tokens = {"prompt_tokens": 700 * calls, "completion_tokens": 60 * calls}
    total = thinking + acting + queue
    return Episode(
        **place(cell, task, asked),
        question=asked.question,
        evidence=asked.evidence,
        answer=answer if outcome.kind == "finished" else "",
        outcome=outcome,
        steps=steps,
        usage=Usage(calls=calls, cost=0.0 if cell.llm == "none" else price, **tokens),
        seconds=Seconds(total=total, llm=thinking + queue, environment=acting, queue=queue),
        fingerprint="f",
    )


def _fate(cell: Cell, task: dict[str, Any], rng: random.Random) -> tuple[bool, bool, Outcome]:
    """Whether the answer is right, whether the gold was seen, and how the episode ended."""
    if cell.workflow == "oracle":
        return True, True, Outcome(kind="finished")
    right = rng.random() < WORKFLOWS.get(cell.workflow, BASELINE)[0] * LLMS[cell.llm] * LEVELS[task["level"]]
    seen = rng.random() < (0.9 if right else 0.3)
    if not right and rng.random() < 0.4:
        kind, cause = rng.choice(FAILURES)
        return False, seen, Outcome(kind=kind, cause=cause, detail=f"It ended by {cause}.")
    if cell.workflow == "dfsdt" and rng.random() < 0.01:
        kind, cause = rng.choice(BROKEN)
        return False, seen, Outcome(kind=kind, cause=cause, detail="The machinery failed; this is no score.")
    return right, seen, Outcome(kind="finished")


def _steps(cell: Cell, seen: str, rng: random.Random) -> Iterator[Step]:
    """Thoughts and calls in turn; the last call sees the gold. A search goes up and down its tree."""
    searches = cell.workflow == "dfsdt"
    turns = 1 if cell.workflow in ("pal", "direct", "oracle") else rng.randint(4, 9) if searches else rng.randint(1, 5)
    mean = WORKFLOWS.get(cell.workflow, BASELINE)[1]
    depth = 0
    for turn in range(turns):
        if cell.llm != "none":
            yield Step(
                kind="thought",
                text=f"{_sentence(rng, 14)} I should search for {rng.choice(WORDS)}.",
                reasoning=_sentence(rng, 20) if rng.random() < 0.1 else "",
                seconds=round(rng.expovariate(turns / mean), 3),
                tokens=Tokens(prompt=400 + 150 * turn, completion=30),
                depth=depth if searches else None,
            )
        if cell.workflow == "direct":
            return
        yield _call(seen if turn == turns - 1 else "", depth if searches else None, rng)
        depth = depth + 1 if rng.random() < 0.7 else max(0, depth - 1)


def _call(seen: str, depth: int | None, rng: random.Random) -> Step:
    failed = not seen and rng.random() < 0.15
    text = " ".join(_sentence(rng, 12) for _ in range(rng.randint(2, 8)))
    found = f"{text} It is {seen.replace(';', ' and ')}, as is said." if seen else text
    return Step(
        kind="call",
        api=rng.choice(["Search", "Lookup", "searchPerson"]),
        arguments={"entity": rng.choice(WORDS).capitalize()},
        observation="Nothing was found." if failed else found,
        error="not_found" if failed else None,
        seconds=round(rng.expovariate(20), 3),
        depth=depth,
    )


def _sentence(rng: random.Random, words: int) -> str:
    return f"{' '.join(rng.choices(WORDS, k=words)).capitalize()}."

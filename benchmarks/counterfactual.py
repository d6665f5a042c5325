"""Checks the condition `counterfactual` on the embedded tasks.

Prints for each task how many questions are kept and why the others are dropped. For sampled questions it checks that
the program finds the new gold in the changed environment, that this counts as faithful and the old gold as leaked, and
that no observation, of the program or of random further calls, contains an old value.

    python -m benchmarks.counterfactual [--questions 1000]

The questions are sampled at random, with new seeds of the condition.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from benchmarks.measure import options
from r_eval.analysis.robustness import verdict
from r_eval.environments.base import Environment
from r_eval.environments.conditions.combined import Combined
from r_eval.environments.conditions.counterfactual import OLD_ANSWERS, REPLACED, Counterfactual
from r_eval.environments.conditions.replacing import Replacements
from r_eval.environments.sandbox import Sandbox, answer_text
from r_eval.environments.session import Session
from r_eval.records import Question, Step
from r_eval.seeds import Seeds
from r_eval.tasks.base import installed, open_environment, task_files

COUNTED = re.compile(r"^\d+ results?\.\n")
"""The heading of a list of records."""
FURTHER = 3
"""Random calls per question besides those of its program."""


@functools.cache
def environment_of(name: str) -> Environment:
    task = installed(name)
    return open_environment(task.environment, task.settings)


def table(names: Iterable[str]) -> None:
    """Print per task how many questions are kept and why the others are dropped."""
    print("| task | questions | kept | dropped |\n| --- | ---: | ---: | --- |")
    for name in names:
        condition, questions = Counterfactual(), installed(name).questions
        n_kept = sum(condition.question(question, environment_of(name)) is not None for question in questions)
        reasons = "; ".join(f"{number}: {reason}" for reason, number in condition.dropped.most_common())
        print(f"| `{name}` | {len(questions)} | {n_kept} | {reasons} |", flush=True)


def draw_questions(names: list[str]) -> Iterator[tuple[str, Counterfactual, Question]]:
    """An endless random sample of questions under the condition."""
    draw = random.Random(0)
    for seed in itertools.count(1):
        condition = Counterfactual(seed=seed)
        pairs = [(name, question) for name in names for question in installed(name).questions]
        for name, question in draw.sample(pairs, len(pairs)):
            changed_question = condition.question(question, environment_of(name))
            if changed_question is not None:
                yield name, condition, changed_question


async def observe(question: Question, environment: Environment, sandbox: Sandbox) -> tuple[str, list[str]]:
    """The program's answer and all observations, of the program and of a few calls with random arguments.

    An environment that finds nothing repeats the arguments, so they are removed from the observation.
    """
    steps: list[Step] = []
    draw = random.Random(question.id)
    values = sorted({*question.meta[REPLACED], *question.meta[REPLACED].values(), *question.evidence})
    with contextlib.closing(Session(environment, sandbox, steps.append)) as session:
        result = await session.run_program(question.program) if question.program else None
        for _ in range(FURTHER):
            api, spec = draw.choice(sorted(session.specs.items()))
            names = list(spec.json_schema()["properties"])
            await session.call(api, {draw.choice(names): draw.choice(values)} if names else {})
    observations = []
    for step in steps:
        arguments = map(re.escape, map(str, (step.arguments or {}).values()))
        observations.append(re.sub("|".join(arguments) or r"\Z", "", COUNTED.sub("", step.observation or "")))
    return answer_text(result.answer) if result else question.answers[0], observations


async def check(names: list[str], number: int) -> None:
    counts: Counter[str] = Counter()
    with Sandbox() as sandbox:
        for name, condition, question in itertools.islice(draw_questions(names), number):
            combined = Combined(condition.name, (condition,))
            variant = combined.environment(environment_of(name), question, Seeds(0, question.id, 0))
            answer, observations = await observe(question, variant, sandbox)
            golds = question.answers, question.meta[OLD_ANSWERS]
            changes = Replacements(question.meta[REPLACED])
            counts["questions"] += 1
            counts[f"who reads is {verdict(answer, *golds)}"] += 1
            counts[f"who remembers is {verdict(golds[1][0], *golds)}"] += 1
            counts["observations"] += len(observations)
            counts["observations with an old value"] += sum(bool(changes.traces(text)) for text in observations)
    print("\n".join(f"{number:6,} {label}" for label, number in counts.items()))


def main() -> None:
    n_questions = options(__doc__, questions=1000).questions
    names = [name for name in sorted(task_files()) if name.partition("/")[0] in ("wiki", "aminer", "crud")]
    table(names)
    asyncio.run(check(names, n_questions))


if __name__ == "__main__":
    main()

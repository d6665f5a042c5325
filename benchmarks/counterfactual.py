"""What the condition `counterfactual` makes of the embedded tasks: how many questions it keeps, and whether these hold.

Of each task: how many questions are kept and why the others are dropped. Of each question that is kept: whether its
program finds the new gold in the changed environment, whether that counts as faithful and the old gold as leaked, and
whether an old value stands in any observation, of the program or of further calls with random arguments.

    python benchmarks/counterfactual.py [--questions 1000] [TASK...]

draws so many questions, by chance of the tasks and with new seeds of the condition, after the table; 0 draws none.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import itertools
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator

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
"""What stands above a list of records, and is about the list."""
FURTHER = 3
"""Random calls of a question, besides those of its program."""


@functools.cache
def environment_of(name: str) -> Environment:
    task = installed(name)
    return open_environment(task.environment, task.settings)


def embedded() -> list[str]:
    return [name for name in sorted(task_files()) if name.partition("/")[0] in ("wiki", "aminer", "crud")]


def table(names: Iterable[str]) -> None:
    """A line a task: how many questions are kept, and why the others are not."""
    print("| task | questions | kept | dropped |\n| --- | ---: | ---: | --- |")
    for name in names:
        condition, questions = Counterfactual(), installed(name).questions
        kept = sum(condition.question(question, environment_of(name)) is not None for question in questions)
        why = "; ".join(f"{number}: {reason}" for reason, number in condition.dropped.most_common())
        print(f"| `{name}` | {len(questions)} | {kept} | {why} |", flush=True)


def drawn(names: list[str]) -> Iterator[tuple[str, Counterfactual, Question]]:
    """Questions of tasks by chance, as they are asked under the condition; without end."""
    draw = random.Random(0)
    for seed in itertools.count(1):
        condition = Counterfactual(seed=seed)
        pairs = [(name, question) for name in names for question in installed(name).questions]
        for name, question in draw.sample(pairs, len(pairs)):
            asked = condition.question(question, environment_of(name))
            if asked is not None:
                yield name, condition, asked


async def seen(question: Question, environment: Environment, sandbox: Sandbox) -> tuple[str, list[str]]:
    """The program's answer, and all observations: its own, and those of a few calls with random arguments.

    An environment that finds nothing repeats the arguments: they are left out of the observation.
    """
    steps: list[Step] = []
    session = Session(environment, sandbox, steps.append)
    result = await session.run_program(question.program or "") if question.program else None
    draw = random.Random(question.id)
    values = sorted({*question.meta[REPLACED], *question.meta[REPLACED].values(), *question.evidence})
    for _ in range(FURTHER):
        api, spec = draw.choice(sorted(session.specs.items()))
        names = list(spec.json_schema()["properties"])
        await session.call(api, {draw.choice(names): draw.choice(values)} if names else {})
    session.close()
    return answer_text(result.answer) if result else question.answers[0], [_without_arguments(step) for step in steps]


def _without_arguments(step: Step) -> str:
    text = step.observation or ""
    for value in (step.arguments or {}).values():
        text = text.replace(str(value), "")
    return text


async def check(names: list[str], number: int) -> None:
    found: Counter[str] = Counter()
    with Sandbox() as sandbox:
        for name, condition, question in itertools.islice(drawn(names), number):
            seeds = Seeds(0, question.id, 0)
            changed = Combined(condition.name, (condition,)).environment(environment_of(name), question, seeds)
            answer, observations = await seen(question, changed, sandbox)
            new, old = question.answers, question.meta[OLD_ANSWERS]
            found["questions"] += 1
            found[f"who reads is {verdict(answer, new, old)}"] += 1
            found[f"who remembers is {verdict(old[0], new, old)}"] += 1
            found["observations"] += len(observations)
            changes = Replacements(question.meta[REPLACED])
            left = [text for text in observations if changes.traces(COUNTED.sub("", text))]
            found["observations with an old value"] += len(left)
    print("\n".join(f"{number:6,} {what}" for what, number in found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=embedded())
    parser.add_argument("--questions", type=int, default=1000)
    chosen = parser.parse_args()
    table(chosen.tasks)
    if chosen.questions:
        asyncio.run(check(list(chosen.tasks), chosen.questions))


if __name__ == "__main__":
    main()

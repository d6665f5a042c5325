"""What an agent does about calls that fail: it tries again, does something else, answers all the same, or stops.

Under the condition `faulty` calls fail at a rate, with a message that the same call may be made again, or with a
result that was cut off. Of every call that failed so:

- retried: the same query API is called with the same arguments again, at any later step. It succeeded where that next
  call did not fail.
- another: else, another call is made after the LLM has seen the failure, that is after its next reply.
- answered: else, the episode ends with an answer.
- stopped: else; it gave up, ran out of steps, or its program failed.

Calls that no environment saw (an unknown API, arguments that are wrong) are not among the calls. Episodes that the
machinery stopped are left out, and so are references and baselines. Longer episodes meet more failures, so that
those that met one and those that did not are not alike: beside the scores of both stands what the same system reaches
on the same questions in the bare environment, paired by question.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from r_eval.analysis.against_clean import Beside, beside, scores_of
from r_eval.analysis.columns import Shared
from r_eval.analysis.epochs import over_epochs
from r_eval.analysis.estimate import Estimate, average, of_questions, of_ratio
from r_eval.analysis.systems import CLEAN, System, suffixes
from r_eval.environments.conditions.faulty import failed
from r_eval.folder import RunFolder
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Step

Reaction = Literal["retried", "another", "answered", "stopped"]
REACTIONS: tuple[Reaction, ...] = get_args(Reaction)
REACHED = (None, "not_found", "temporary", "tool_error")
"""Errors of a call that the environment saw."""


@dataclass(frozen=True, slots=True)
class Group:
    """Episodes that met a failure, or those that met none.

    Attributes:
        score: Of those that have a score.
        clean: These episodes beside the same questions under `clean`; None where no question has both.
    """

    episodes: int
    score: Estimate
    clean: Beside | None


@dataclass(frozen=True, slots=True)
class Recovery:
    """One system under one condition with failures, on one task or over all its tasks.

    Attributes:
        task: "" for all tasks together: means over tasks, each with the same weight, and sums of calls and episodes.
        calls: Calls that reached the environment.
        failures: Those that failed for the moment, or whose result was cut off.
        failed: Their share.
        counts: By reaction, how many failures.
        shares: By reaction, of the failures.
        succeeded: Retries that did not fail; `success` is their share of the retries.
        met: Episodes with a failure.
        spared: Episodes without.
    """

    condition: str
    system: str
    workflow: str
    llm: str
    task: str
    calls: int
    failures: int
    failed: Estimate
    counts: Mapping[Reaction, int]
    shares: Mapping[Reaction, Estimate]
    succeeded: int
    success: Estimate
    met: Group
    spared: Group


@dataclass(frozen=True, slots=True)
class _Told:
    """What one episode tells."""

    question: str
    score: float | None
    calls: int
    reactions: Sequence[tuple[Reaction, bool]]


def reactions(episode: Episode) -> list[tuple[Reaction, bool]]:
    """What came after each failed call of an episode, and whether a retry was a success."""
    calls = [(place, step) for place, step in enumerate(episode.steps) if step.kind == "call"]
    replies = [place for place, step in enumerate(episode.steps) if step.kind == "thought"]
    last = calls[-1][0] if calls else -1
    answered = episode.outcome.kind == "finished" and bool(episode.answer.strip())
    found: list[tuple[Reaction, bool]] = []
    for number, (place, step) in enumerate(calls):
        if not failed(step):
            continue
        again = next((later for _, later in calls[number + 1 :] if _same(later, step)), None)
        seen = next((reply for reply in replies if reply > place), math.inf)
        if again is not None:
            found.append(("retried", again.error in REACHED and not failed(again)))
        elif last > seen:
            found.append(("another", False))
        else:
            found.append(("answered" if answered else "stopped", False))
    return found


def recovery(
    runs: Sequence[RunFolder],
    systems: Sequence[System],
    shared: Shared,
    left_out: Collection[tuple[str, str]] = (),
) -> list[Recovery]:
    """A line a system and task under every condition in which some call failed, and one over several tasks.

    Args:
        systems: Of these runs, with their columns.
        shared: By task and question, what a question shares with others.
        left_out: Questions (task, id) that take no part in the comparison with `clean`.

    Raises:
        UserError: A record cannot be read.
    """
    contenders = {(one.condition, one.name): one for one in systems if one.role == "system" and one.condition != CLEAN}
    told: dict[tuple[str, str], dict[str, list[_Told]]] = {key: {} for key in contenders}
    for run, suffix in zip(runs, suffixes(runs), strict=True):
        for cell in run.cells():
            key = cell.condition, cell.system + suffix
            if key in told:
                scores = {id_: record["score"] for id_, record in run.scores(cell).items()}
                told[key].setdefault(cell.task, []).extend(_told(run.cell_episodes(cell), scores))
    clean = {one.name: scores_of(one, left_out) for one in systems if one.condition == CLEAN}
    faulty = {key[0] for key, tasks in told.items() if any(one.reactions for own in tasks.values() for one in own)}
    found: list[Recovery] = []
    for key, tasks in told.items():
        if key[0] not in faulty:
            continue
        system = contenders[key]
        beside = clean.get(system.name, {})
        own = [_of_tasks(system, {task: of}, beside, shared) for task, of in tasks.items()]
        known = [line for line in own if line.calls]
        found += known
        if len(known) > 1:
            whole = {line.task: tasks[line.task] for line in known}
            found.append(_of_tasks(system, whole, beside, shared))
    return found


def _told(episodes: Iterable[Episode], scores: Mapping[str, float | None]) -> Iterable[_Told]:
    for episode in episodes:
        if episode.outcome.kind not in INFRASTRUCTURE_FAILURES:
            calls = sum(step.kind == "call" and step.error in REACHED for step in episode.steps)
            yield _Told(episode.question_id, scores.get(episode.episode_id), calls, reactions(episode))


def _of_tasks(
    system: System, tasks: Mapping[str, Sequence[_Told]], clean: Mapping[str, Mapping[str, float]], shared: Shared
) -> Recovery:
    """The line of one task, or of several together."""
    every = [one for own in tasks.values() for one in own]
    happened = [reaction for one in every for reaction in one.reactions]
    kinds = [kind for kind, _ in happened]

    def over_tasks(parts: Mapping[str, Sequence[float]], wholes: Mapping[str, Sequence[float]]) -> Estimate:
        return average(
            [
                of_ratio([one.question for one in own], parts[task], wholes[task], shared.get(task, {}))
                for task, own in tasks.items()
            ],
            len(tasks),
        )

    def counted(kind: Reaction, well: bool = False) -> dict[str, list[float]]:
        return {
            task: [sum(of == kind and (good or not well) for of, good in one.reactions) for one in own]
            for task, own in tasks.items()
        }

    calls = {task: [float(one.calls) for one in own] for task, own in tasks.items()}
    failures = {task: [float(len(one.reactions)) for one in own] for task, own in tasks.items()}
    return Recovery(
        *(system.condition, system.name, system.workflow, system.llm, "" if len(tasks) > 1 else next(iter(tasks))),
        calls=sum(one.calls for one in every),
        failures=len(happened),
        failed=over_tasks(failures, calls),
        counts={kind: kinds.count(kind) for kind in REACTIONS},
        shares={kind: over_tasks(counted(kind), failures) for kind in REACTIONS},
        succeeded=sum(good for _, good in happened),
        success=over_tasks(counted("retried", True), counted("retried")),
        met=_group({task: [one for one in own if one.reactions] for task, own in tasks.items()}, clean, shared),
        spared=_group({task: [one for one in own if not one.reactions] for task, own in tasks.items()}, clean, shared),
    )


def _group(tasks: Mapping[str, Sequence[_Told]], clean: Mapping[str, Mapping[str, float]], shared: Shared) -> Group:
    """Some episodes by task: their score, and the same questions under `clean`."""
    scored = {task: [(one.question, one.score) for one in own if one.score is not None] for task, own in tasks.items()}
    estimates = [
        of_questions([question for question, _ in own], [score for _, score in own], len(tasks[task]), shared.get(task))
        for task, own in scored.items()
    ]
    means = {task: over_epochs(own) for task, own in scored.items()}
    whole = estimates[0] if len(estimates) == 1 else average(estimates, len(estimates))
    return Group(sum(map(len, tasks.values())), whole, beside(means, clean, shared))


def _same(one: Step, other: Step) -> bool:
    return (one.api, one.arguments) == (other.api, other.arguments)

"""The tasks of the paper: every question can be answered through the query APIs, and its gold is what they give."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from r_eval import Grid, run
from r_eval.analysis import metrics
from r_eval.analysis.response_types import classify
from r_eval.environments.sandbox import Sandbox
from r_eval.runner.demonstrations import work_out
from r_eval.tasks.base import installed, open_environment, task_files
from r_eval.tasks.templates import read_templates
from scripts.data.tasks import DEMONSTRATIONS, make
from tests.paper import everything, paper_tasks

pytestmark = pytest.mark.parametrize("name", paper_tasks())


def test_it_has_a_hundred_questions_and_as_many_demonstrations_and_none_twice(name: str) -> None:
    task = installed(name)
    assert len(task.questions) == len(task.demonstrations) == 100
    assert len({q.id for q in everything(name)}) == len({q.question.casefold() for q in everything(name)}) == 200


def test_demonstrations_show_calls_that_end_in_their_answer(name: str) -> None:
    task = installed(name)

    async def worked() -> None:
        with Sandbox() as sandbox:
            shown = await work_out(task.demonstrations, open_environment(task.environment), sandbox, 1000)
        assert [d.answer for d in shown] == [q.answers[0] for q in task.demonstrations]
        assert all(d.calls and all(c.error is None for c in d.calls) for d in shown)

    asyncio.run(worked())


def test_its_files_are_what_its_templates_make(name: str, sandbox: Sandbox) -> None:
    path = task_files()[name]
    made, _ = asyncio.run(make(read_templates(path.with_name(f"{path.stem}.templates.yaml")), sandbox))
    assert (made[:DEMONSTRATIONS], made[DEMONSTRATIONS:]) == (
        list(installed(name).demonstrations),
        list(installed(name).questions),
    )


def test_the_oracle_scores_100_with_evidence_for_every_answer(name: str, tmp_path: Path) -> None:
    grid = Grid(workflows=["oracle"], llms=["openai/unused"], tasks=[name], shots=0)
    result = run(grid, tmp_path / "run")
    task, episodes = installed(name), list(result.episodes())
    assert (result.state, len(episodes)) == ("complete", len(task.questions))
    score = metrics.get(task.metric)
    assert [e.question_id for e in episodes if score(e.answer, e.golds) != 1.0] == []
    found = {e.question_id: classify(e, 1.0) for e in episodes}
    assert {key: response for key, response in found.items() if response.type != "EM"} == {}

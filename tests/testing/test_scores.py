"""assert_score over real runs: the oracle, which is right, and an LLM that always says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval import Grid, Run, run
from r_eval.errors import UserError
from r_eval.testing import assert_score

LLM = '''"""An LLM that always says the same."""


def same(request):
    return "Nairobi"
'''
TASKS = ["wiki/high-freq", "aminer/soay-easy"]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("scores")
    (folder / "llm.py").write_text(LLM, encoding="utf-8")
    llm = {"llm": f"scripted/{folder / 'llm.py'}:same", "name": "same"}
    grid = Grid(workflows=["oracle", "direct"], llms=[llm], tasks=TASKS, samples=6)
    return run(grid, out=folder / "run")


def test_a_score_that_is_reached_is_given_back_with_its_interval(asked: Run) -> None:
    estimate = assert_score(asked, "oracle+none", 1.0)
    assert (estimate.mean, estimate.n, estimate.tasks) == (1.0, 12, 2)
    assert estimate.low is not None
    assert estimate.low < 1


def test_a_folder_is_as_good_as_a_run(asked: Run) -> None:
    assert assert_score(asked.path, "oracle+none", 1.0, task=TASKS[1]).n == 6


def test_a_score_that_is_not_reached_fails_with_interval_and_questions(asked: Run) -> None:
    with pytest.raises(AssertionError) as failed:
        assert_score(asked, "direct+same", 0.9, task=TASKS[1])
    first, *questions = str(failed.value).splitlines()
    assert first.startswith("direct+same on aminer/soay-easy scores 0.000 (0.000 to ")
    assert first.endswith("with 95 % confidence; 6 episodes of 6 questions), below 0.9")
    assert len(questions) == 5
    assert all("'Nairobi'" in line for line in questions)


def test_to_be_sure_the_interval_must_reach_it(asked: Run) -> None:
    with pytest.raises(AssertionError, match="is not sure to reach more"):
        assert_score(asked, "oracle+none", 0.95, sure=True)


def test_missing_episodes_fail_unless_they_are_allowed(asked: Run, tmp_path: Path) -> None:
    grid = Grid(workflows=["oracle"], llms=["gguf/smollm2-135m"], tasks=[TASKS[0]], samples=4)
    part = run(grid, out=tmp_path / "run")
    (file,) = (part.path / "episodes").rglob("*.jsonl")
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:3]), encoding="utf-8")
    with pytest.raises(AssertionError, match="1 of 4 episodes have no score"):
        assert_score(part, "oracle+none", 0.5)
    assert assert_score(part, "oracle+none", 0.5, incomplete=True).missing == 1


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"system": "orakel+none"}, "unknown system 'orakel\\+none'. Did you mean oracle\\+none"),
        ({"task": "wiki/high-frequency"}, "Did you mean wiki/high-freq"),
        ({"condition": "noisy"}, "unknown condition 'noisy'"),
    ],
)
def test_a_name_that_the_run_lacks_is_told(asked: Run, names: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        assert_score(asked, **{"system": "oracle+none", "at_least": 0.5, **names})

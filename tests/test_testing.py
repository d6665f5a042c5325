"""What `r_eval.testing` offers to other people's tests: a contract for environments, an assertion about scores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, Run, run
from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.errors import UserError
from r_eval.testing import EnvironmentContract, assert_score

DISHES = {f"d{n}": f"Плов {n}" for n in range(4)}


class Dishes(Environment):
    """Dishes."""

    @query_api
    def find(self, word: str, most: int = 20) -> list[str]:
        """Find dishes.

        Args:
            word: A part of the name.
            most: So many at most.
        """
        return [key for key, text in DISHES.items() if word in text][: max(most, 0)]

    @query_api
    def show(self, dish_id: str) -> str:
        """Show a dish.

        Args:
            dish_id: Its id.
        """
        if dish_id not in DISHES:
            raise NotFound("There is no such dish.")
        return DISHES[dish_id]

    def records(self, kind: str) -> list[dict[str, Any]]:
        if kind != "dish":
            raise KeyError(kind)
        return [{"id": key} for key in DISHES]


class Whole(EnvironmentContract):
    calls = [("find", {"word": "Плов"}), ("show", {"dish_id": "d1"})]
    nothing = [("show", {"dish_id": "d99"}), ("find", {"word": "unicorn"})]
    kinds = ["dish"]

    def environment(self) -> Environment:
        return Dishes()


class TestMethod(Whole):
    pass


class TestFixture(Whole):
    @pytest.fixture
    @staticmethod
    def environment() -> Environment:
        return Dishes()


class Failing(Dishes):
    """Dishes, and no word for what is not there."""

    @query_api
    def show(self, dish_id: str) -> str:
        """Show a dish.

        Args:
            dish_id: Its id.
        """
        return DISHES[dish_id]


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "none of the calls is of show": ({"calls": Whole.calls[:1]}, "give a call of every query API"),
    "a wrong name": (
        {"calls": [*Whole.calls, ("shwo", {})]},
        "a call of shwo does not fit: there is no such query API",
    ),
    "finds nothing": ({"calls": [*Whole.calls, ("find", {"word": "суп"})]}, "find(word='суп') finds nothing"),
    "no such records": ({"kinds": ["soup"]}, "records('soup') raises KeyError"),
    "an exception": ({"environment": lambda self: Failing()}, "raises KeyError: "),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_the_contract_and_is_named(name: str, request: pytest.FixtureRequest) -> None:
    members, message = FAULTS[name]
    with pytest.raises(pytest.fail.Exception) as failed:
        type("Faulty", (Whole,), members)().test_the_checks_find_nothing(request)
    assert message in str(failed.value)


def test_what_is_so_on_purpose_may_be_allowed(request: pytest.FixtureRequest) -> None:
    members = {"environment": lambda self: Failing(), "allowed": ["raises KeyError"]}
    type("Allowed", (Whole,), members)().test_the_checks_find_nothing(request)


def test_the_names_are_imported_without_pytest() -> None:
    code = "import sys, r_eval.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Scores: the oracle, which is right, and an LLM that always says the same

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

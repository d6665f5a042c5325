"""What `r_eval.testing` offers to other people's tests: a contract for environments."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.testing import EnvironmentContract

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


def test_the_names_are_imported_without_pytest() -> None:
    code = "import sys, r_eval.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

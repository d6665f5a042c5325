"""What `r_eval.testing` offers to other people's tests: a contract for environments."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from r_eval.environments.base import Environment, query_api
from r_eval.testing import EnvironmentContract
from tests.workflow_contract import Pantry


class Stocked(Pantry):
    """The pantry with records for templates."""

    def records(self, kind: str) -> list[dict[str, Any]]:
        return {"dish": [{"name": name, "ingredients": parts} for name, parts in self.DISHES.items()]}[kind]


class Whole(EnvironmentContract):
    calls = [("find_dish", {"name": "pizza"}), ("ingredients", {"dish": "pizza"})]
    nothing = [("ingredients", {"dish": "плов"}), ("find_dish", {"name": "unicorn"})]
    kinds = ["dish"]

    def environment(self) -> Environment:
        return Stocked()


class TestMethod(Whole):
    pass


class TestFixture(Whole):
    @pytest.fixture
    @staticmethod
    def environment() -> Environment:
        return Stocked()


class Failing(Stocked):
    """Dishes, and no word for what is not there."""

    @query_api
    async def ingredients(self, dish: str) -> list[str]:
        """List what is in a dish.

        Args:
            dish: The dish's exact name.
        """
        return self.DISHES[dish]


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "none of the calls is of ingredients": ({"calls": Whole.calls[:1]}, "give a call of every query API"),
    "a wrong name": (
        {"calls": [*Whole.calls, ("ingreds", {})]},
        "a call of ingreds does not fit: there is no such query API",
    ),
    "finds nothing": ({"calls": [*Whole.calls, ("find_dish", {"name": "суп"})]}, "find_dish(name='суп') finds nothing"),
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

"""Tests for a team's own continuous integration, run by pytest.

from r_eval.testing import EnvironmentContract

class TestRecipes(EnvironmentContract):
    calls = [("find_dish", {"name": "soup"}), ("dish_details", {"dish_id": "d02"})]
    nothing = [("dish_details", {"dish_id": "d99"})]
    kinds = ["dish"]

    def environment(self):
        return Recipes()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from r_eval.checks import Call, check
from r_eval.environments.base import Environment

if TYPE_CHECKING:
    import pytest

__all__ = ["Call", "EnvironmentContract"]


class EnvironmentContract:
    """What `r-eval check` says of an environment, as a test. Subclass it under a name that begins with `Test`.

    Attributes:
        calls: Calls that find something, at least one of every query API. They are made in this order in one session,
            so that one may need what another did.
        nothing: Calls that find nothing, where there are such.
        kinds: Kinds of which `Environment.records` has some.
        allowed: Parts of findings that are so on purpose.
    """

    calls: ClassVar[Sequence[Call]] = ()
    nothing: ClassVar[Sequence[Call]] = ()
    kinds: ClassVar[Sequence[str]] = ()
    allowed: ClassVar[Sequence[str]] = ()

    def environment(self) -> Environment:
        """The environment under test; instead of this method there may be a fixture of the same name."""
        raise NotImplementedError(f"{type(self).__name__} needs a method or fixture `environment`")

    def test_the_checks_find_nothing(self, request: pytest.FixtureRequest) -> None:
        import pytest

        assert self.calls, f"{type(self).__name__} needs some `calls` that find something"
        try:
            environment: Environment = request.getfixturevalue("environment")
        except pytest.FixtureLookupError as error:
            if error.argname != "environment":
                raise
            environment = self.environment()
            request.addfinalizer(environment.close)
        found = check(environment, self.calls, nothing=self.nothing, kinds=self.kinds)
        lines = [finding.line() for finding in found if finding.severity != "note"]
        wrong = [line for line in lines if not any(part in line for part in self.allowed)]
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)

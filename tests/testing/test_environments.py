"""The contract for environments: what is whole passes, and every fault fails the test that is for it."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

HEAD = '''
import itertools, random, time
from typing import Any
import pytest
from r_eval.environments.base import Environment, NotFound, query_api
from r_eval.environments.schema import FunctionSpec
from r_eval.testing import EnvironmentContract

DISHES = {f"d{i}": f"Dish {i}. It is good. One likes it." for i in range(20)}
COUNT = itertools.count()


class Everything(dict):
    def get(self, name, default=None):
        return dict.get(self, name) or self["show"]


class Lenient(FunctionSpec):
    def check(self, arguments):
        return arguments


class Whole(Environment):
    """Dishes."""

    def __init__(self):
        self.shared, self.last = {}, ""

    @query_api
    def list_dishes(self, word: str, most: int = 20) -> list[dict]:
        """List dishes.

        Args:
            word: A part of the text.
        """
        return [{"id": key, "text": text} for key, text in DISHES.items() if word in text][:max(most, 0)]

    @query_api
    def show(self, dish_id: str) -> str:
        """Show a dish."""
        if dish_id not in DISHES:
            raise NotFound("There is no such dish.")
        return DISHES[dish_id]

    def records(self, kind):
        if kind != "dish":
            raise KeyError(kind)
        return [{"id": key} for key in DISHES]


class Base(EnvironmentContract):
    calls = [("list_dishes", {"word": "Dish"}), ("show", {"dish_id": "d1"}), ("show", {"dish_id": "d2"})]
    nothing = [("show", {"dish_id": "d99"}), ("list_dishes", {"word": "unicorn"})]
    kinds = ["dish"]


class TestMethod(Base):
    pickles = True

    def environment(self):
        return Whole()


class TestFixtureOfTheClass(Base):
    @pytest.fixture
    def environment(self):
        return Whole()


@pytest.fixture(name="environment")
def of_the_module():
    return Whole()


class TestFixtureOfTheModule(Base):
    pass
'''

SHOW = '''
    @query_api
    def show(self, dish_id: str) -> str:
        """Show."""
        {}
'''

FIXTURES = [f"TestFixtureOfThe{place}::test_every_call_is_logged" for place in ("Class", "Module")]
FAULTS: dict[str, tuple[str, str]] = {
    "the_environment_says_what_it_is": (
        "    __doc__ = None",
        "needs a docstring",
    ),
    "every_api_is_documented_and_its_parameters_are_typed": (
        SHOW.format("return DISHES[dish_id]").replace("dish_id: str", "dish_id"),
        "show: no type says what may be given for dish_id",
    ),
    "every_api_is_among_the_calls": (
        SHOW.format("return 'x'").replace("def show", "def another"),
        "`calls` needs a call of another too",
    ),
    "the_schema_of_every_api_is_a_json_schema_that_its_calls_fit": (
        SHOW.format("return DISHES[f'd{dish_id}']").replace("dish_id: str", "dish_id: int"),
        "'d1' is not of type 'integer'",
    ),
    "a_call_gives_plain_data_and_its_text": (
        SHOW.format("return float('nan')"),
        "not JSON compliant",
    ),
    "a_call_gives_the_same_again_in_another_session": (
        SHOW.format("return f'{dish_id} {next(COUNT)}'"),
        "the same calls give other results in a second session",
    ),
    "an_environment_that_is_made_anew_gives_the_same": (
        """
    def __init__(self):
        self.number = next(COUNT)

    @property
    def version(self):
        return str(self.number)
""",
        "made anew, it has another version",
    ),
    "what_is_not_there_is_an_observation": (
        SHOW.format("return DISHES.get(dish_id, 'pizza')"),
        "show(dish_id='d99') finds something: pizza",
    ),
    "a_program_gets_what_calls_give": (
        SHOW.format("return next(COUNT)"),
        "a program gets other values than a call gives",
    ),
    "sessions_do_not_see_each_other": (
        SHOW.format("self.shared.setdefault('all', []).append(dish_id); return self.shared['all']"),
        "what one session does changes what another is told",
    ),
    "many_sessions_at_once_hear_what_one_alone_hears": (
        SHOW.format("self.shared['now'] = dish_id; time.sleep(0.01); return self.shared['now']"),
        "disturb each other",
    ),
    "a_closed_session_leaves_the_others_alone": (
        SHOW.format("return 'closed' if self.shared.pop('closed', False) else dish_id")
        + "    def close(self):\n        self.shared['closed'] = True\n",
        "the end of one session changes what another is told",
    ),
    "an_unknown_api_is_an_observation_that_names_a_known_one": (
        "    def specs(self):\n        return Everything(super().specs())\n",
        "list_dishesx is called",
    ),
    "wrong_arguments_are_observations_that_say_which": (
        """
    def specs(self):
        return {name: Lenient(**vars(spec)) for name, spec in super().specs().items()}

    async def call(self, api, arguments):
        return await super().call(api, {k: str(v) for k, v in arguments.items() if k in ("dish_id", "word")})
""",
        "(should be refused)",
    ),
    "hostile_text_is_an_observation": (
        SHOW.format("return DISHES.get(dish_id.encode('utf-8').decode(), 'x')"),
        "UnicodeEncodeError",
    ),
    "the_version_names_the_knowledge": (
        "    version = ' '",
        "the version is empty",
    ),
    "records_come_in_a_fixed_order": (
        "    def records(self, kind):\n        return random.sample(list(DISHES), 20)\n",
        "dish: asked twice, other records",
    ),
    "an_unknown_kind_of_record_is_a_key_error": (
        "    def records(self, kind):\n        return [{}]\n",
        "records of a kind that is not there should raise KeyError, and are [{}]",
    ),
}
"""By the test that finds it: what is wrong with an environment, and what is said of it."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """What pytest says of every test, by class and name; empty where it passed."""
    folder = tmp_path_factory.mktemp("contract")
    faulty = [
        f"class Faulty{i}(Whole):\n{code}\n\nclass TestFaulty{i}(Base):\n    @pytest.fixture\n"
        f"    def environment(self):\n        return Faulty{i}()\n"
        for i, (code, _) in enumerate(FAULTS.values())
    ]
    (folder / "test_dishes.py").write_text("\n\n".join([HEAD, *faulty]), encoding="utf-8")
    chosen = ["TestMethod", *FIXTURES, *(f"TestFaulty{i}::test_{name}" for i, name in enumerate(FAULTS))]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=said.xml"]
    subprocess.run(
        [*command, *(f"test_dishes.py::{name}" for name in chosen)], cwd=folder, capture_output=True, check=False
    )
    cases = ET.parse(folder / "said.xml").iter("testcase")
    return {
        (case.attrib["classname"].rpartition(".")[2], case.attrib["name"].removeprefix("test_")): "".join(
            f"{part.get('message')}\n{part.text}" for part in case
        )
        for case in cases
    }


def test_a_whole_environment_passes(outcomes: dict[tuple[str, str], str]) -> None:
    said = {name: text for (cls, name), text in outcomes.items() if cls == "TestMethod"}
    assert said.keys() > FAULTS.keys()
    assert set(said.values()) == {""}


@pytest.mark.parametrize("test", FIXTURES)
def test_an_environment_may_be_a_fixture(outcomes: dict[tuple[str, str], str], test: str) -> None:
    cls, _, name = test.partition("::test_")
    assert outcomes[cls, name] == ""


@pytest.mark.parametrize(("number", "name"), list(enumerate(FAULTS)))
def test_a_fault_fails_the_test_that_is_for_it(outcomes: dict[tuple[str, str], str], number: int, name: str) -> None:
    assert FAULTS[name][1] in outcomes[f"TestFaulty{number}", name]


def test_the_names_are_imported_without_pytest() -> None:
    code = "import sys, r_eval.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

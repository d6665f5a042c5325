"""Conditions by name, and several at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.conditions.combined import CLEAN, Combined
from r_eval.environments.conditions.faulty import Faulty, FaultyEnvironment
from r_eval.environments.conditions.finding import combine, known
from r_eval.environments.conditions.slow import Slow, SlowEnvironment
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.seeds import Seeds
from tests.environments.conditions.shelves import QUESTION, Shelves

SEEDS = Seeds(0, "q1", 0)
OWN = """
from r_eval.environments.conditions.base import Condition

class Renaming(Condition):
    name = "renaming"

    def __init__(self, rate=1.0, to="other"):
        self.rate, self.to = rate, to

    def question(self, question, environment):
        return question.model_copy(update={"id": self.to})

    def environment(self, environment, question, seeds):
        return environment
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    """A condition of a user's own."""
    file = tmp_path / "mine.py"
    file.write_text(OWN, encoding="utf-8")
    return f"{file}:Renaming"


def test_every_condition_has_the_name_of_its_module() -> None:
    for name, condition in known().items():
        assert condition.name == name
        assert condition.__module__ == f"r_eval.environments.conditions.{name.replace('-', '_')}"


def test_clean_gives_the_very_environment() -> None:
    environment = Shelves()
    assert combine("clean", ["clean"], {}).environment(environment, QUESTION, SEEDS) is environment
    assert CLEAN.identity() == {}
    assert not CLEAN.changes_questions


def test_the_first_condition_is_the_innermost() -> None:
    made = combine("both", ["faulty", "slow"], {"seconds": 0}).environment(Shelves(), QUESTION, SEEDS)
    assert isinstance(made, SlowEnvironment)
    assert isinstance(made.inner, FaultyEnvironment)


def test_a_setting_goes_to_the_one_that_takes_it() -> None:
    faulty, slow = combine("both", ["faulty", "slow"], {"seconds": 2, "rate": 0.5}).parts
    assert isinstance(faulty, Faulty)
    assert isinstance(slow, Slow)
    assert (faulty.rate, slow.mean) == (0.5, 2)


def test_a_setting_that_two_take_goes_to_both(own: str) -> None:
    parts: Any = combine("both", ["faulty", own], {"rate": 0.5}).parts
    assert [part.rate for part in parts] == [0.5, 0.5]


def test_a_condition_of_a_file_is_found(own: str) -> None:
    assert combine("mine", [own], {}).parts[0].name == "renaming"


def test_a_question_that_loses_its_id_is_an_error(own: str) -> None:
    with pytest.raises(ValueError, match="renaming changes the id of the question 'q1'"):
        combine("mine", [own], {}).question(QUESTION, Shelves())


def test_a_condition_that_drops_a_question_ends_the_matter() -> None:
    class Dropping(Faulty):
        def question(self, question: Question, environment: object) -> Question | None:
            return None

    combined = Combined("two", (Dropping(), Dropping()))
    assert combined.changes_questions
    assert combined.question(QUESTION, Shelves()) is None


@pytest.mark.parametrize(
    ("kinds", "settings", "said"),
    [
        (["fualty"], {}, "unknown condition 'fualty'. Did you mean faulty? Known: clean, "),
        (["faulty"], {"rat": 0.1}, "condition 'x': unknown setting 'rat'. Did you mean rate?"),
        (["clean"], {"rate": 0.1}, "condition 'x': unknown setting 'rate'. Known: none"),
        (["faulty"], {"rate": 2}, "condition 'x': rate must be a number from 0 to 1, not 2"),
        (["faulty", "faulty"], {}, "condition 'x': faulty stands twice in it"),
        (["clean", "faulty"], {}, "condition 'x': clean is the bare environment, and combines with nothing"),
        (["json:JSONDecoder"], {}, "json:JSONDecoder is not a Condition"),
    ],
)
def test_what_makes_no_sense_is_refused(kinds: list[str], settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        combine("x", kinds, settings)

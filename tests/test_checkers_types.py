"""Types that only a type checker imports: nothing but a query API's own types is ever evaluated.

Up to Python 3.13 `from __future__ import annotations` makes that so; from 3.14 on types are evaluated late anyway.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from r_eval import Grid, run
from r_eval.environments.opening import open_environment
from r_eval.errors import UserError

LATE = "from __future__ import annotations" if sys.version_info < (3, 14) else ""
PARTS = f"""{LATE}
from typing import TYPE_CHECKING
from r_eval.environments import Environment, query_api
from r_eval.environments.conditions.base import Condition
from r_eval.workflows.react import ReAct

if TYPE_CHECKING:
    from money import Price

class Shop(Environment):
    '''A shop.'''

    def __init__(self, tax: int = 0) -> Price:
        self.tax = tax

    @query_api
    def price(self, name: str) -> int:
        '''The price of a fruit.'''
        return 3 + self.tax

class Misread(Environment):
    '''A shop.'''

    @query_api
    def price(self, name: Price) -> int:
        '''The price of a fruit.'''
        return 3

class Ask(ReAct):
    def __init__(self, times: Price = 1) -> Price:
        super().__init__()
        self.times = times

class Same(Condition):
    name = "same"

    def __init__(self, share: Price = 0) -> None:
        self.share = share

    def environment(self, environment: Price, notes: Price, seeds: Price) -> Price:
        return environment

def reply(request: Price) -> Price:
    return "Finish[3]"

def agent(question: Price, base_url: Price) -> Price:
    return "3"
"""


@pytest.fixture
def parts(tmp_path: Path) -> str:
    (tmp_path / "parts.py").write_text(PARTS, encoding="utf-8")
    (tmp_path / "q.jsonl").write_text('{"id": "a", "question": "How much?", "answers": ["3"]}\n', encoding="utf-8")
    return str(tmp_path / "parts.py")


def test_settings_and_functions_may_be_typed_for_a_checker_alone(parts: str, tmp_path: Path) -> None:
    grid = Grid(
        name="typed",
        llms=[f"scripted/{parts}:reply"],
        workflows=[{"workflow": f"{parts}:Ask", "times": 2}, {"workflow": "agent", "function": f"{parts}:agent"}],
        tasks=[
            {
                "task": "s",
                "questions": str(tmp_path / "q.jsonl"),
                "environment": {"environment": f"{parts}:Shop", "tax": 1},
            }
        ],
        conditions=[{"condition": f"{parts}:Same", "share": 1}],
    )
    episodes = list(run(grid, tmp_path / "out").episodes())
    assert [(e.outcome.kind, e.answer) for e in episodes] == [("finished", "3")] * 2


def test_the_types_of_a_query_api_are_needed(parts: str) -> None:
    with pytest.raises(UserError, match="'Price' is not defined: import it at the top of the file"):
        open_environment(f"{parts}:Misread")

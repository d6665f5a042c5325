"""What every workflow must do, of the one in reflect.py, and what that one does besides."""

from reflect import ASK, Reflect

from r_eval.testing import Pantry, Talker, WorkflowContract, played
from r_eval.workflows.base import Limits


class TestReflect(WorkflowContract):
    def workflow(self) -> Reflect:
        return Reflect()


def test_the_first_answer_is_looked_at_once_more() -> None:
    replies = iter(["Action 1: Finish[pizza]", 'Action 2: find_dish(name="ome")', "Action 3: Finish[omelette]"])
    llm = Talker(lambda request: next(replies))
    episode = played(Reflect(), llm, Pantry(), Limits())
    assert episode.answer == "omelette"
    assert [request.messages[-1].content for request in llm.requests].count(ASK) == 1

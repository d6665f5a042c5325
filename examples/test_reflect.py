"""The workflow of reflect.py reconsiders its first answer."""

from pathlib import Path

from reflect import ASK

from r_eval import Grid, run

HERE = Path(__file__).parent
LLM = """
replies = iter(["Action 1: Finish[pizza]", "Action 2: Finish[omelette]"])

def reply(request):
    return next(replies)
"""


def test_the_first_answer_is_reconsidered(tmp_path: Path) -> None:
    (tmp_path / "llm.py").write_text(LLM, encoding="utf-8")
    grid = Grid(
        workflows=[f"{HERE / 'reflect.py'}:Reflect"],
        llms=[f"scripted/{tmp_path / 'llm.py'}:reply"],
        tasks=["aminer/soay-easy"],
        samples=1,
    )
    (episode,) = run(grid, out=tmp_path / "run", cache=False).episodes()
    assert episode.answer == "omelette"
    assert [message.content for message in episode.messages].count(ASK) == 1

"""What the check of an environment finds, in environments that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from r_eval.checking import Finding, check

Write = Callable[..., str]
GOOD = '''
    @query_api
    def show(self, dish_id: str) -> str:
        """Show a dish.

        Args:
            dish_id: Its id.
        """
        if dish_id not in DISHES:
            raise NotFound(f"no dish {dish_id}")
        return DISHES[dish_id]
'''


def found(target: str, *severities: str) -> list[Finding]:
    return [f for f in check(target) if f.severity in (severities or ("error", "warning"))]


def only(target: str) -> Finding:
    (finding,) = found(target)
    return finding


def line_of(target: str, text: str) -> str:
    """`file:line` of the first line that holds a text."""
    path = Path(target.rpartition(":")[0])
    lines = path.read_text(encoding="utf-8").split("\n")
    return f"{path}:{next(n for n, line in enumerate(lines, 1) if text in line)}"


def test_an_environment_that_is_right_gets_notes_only(environment: Write) -> None:
    target = environment(GOOD)
    assert found(target) == []
    assert [f.what for f in found(target, "note")] == [
        "records: 3 dish",
        "query API show: 5 calls: 3 answered, 2 found nothing",
    ]


def test_the_embedded_environments_are_right() -> None:
    assert found("wiki") + found("aminer") == []


def test_the_scaffolded_environment_is_right(recipes: Path) -> None:
    assert found(f"{recipes / 'recipes.py'}:Recipes") == []


def test_a_class_without_docstring_is_an_error_at_its_line(environment: Write) -> None:
    target = environment(GOOD, doc="")
    finding = only(target)
    assert finding.severity == "error"
    assert "the class has no docstring" in finding.what
    assert finding.place == line_of(target, "class Bad")


def test_an_api_without_docstring_is_an_error_and_its_parameter_a_warning(environment: Write) -> None:
    target = environment(
        """
    @query_api
    def show(self, dish_id: str) -> str:
        return "pizza"
"""
    )
    assert [(f.severity, f.what, f.place) for f in found(target)] == [
        ("error", "query API show: no docstring", line_of(target, "def show")),
        (
            "warning",
            "query API show: nothing describes the parameter dish_id",
            line_of(target, "def show"),
        ),
    ]


def test_missing_types_of_parameters_and_returns_are_found(environment: Write) -> None:
    target = environment(GOOD.replace("dish_id: str)", "dish_id)").replace(" -> str", ""))
    texts = [(f.severity, f.what) for f in found(target)]
    assert ("error", "query API show: the parameter dish_id has no type") in texts
    assert ("warning", "query API show: no return type") in texts


def test_a_described_parameter_that_is_none_is_found(environment: Write) -> None:
    finding = only(environment(GOOD.replace("dish_id: Its id.", "dish_id: Its id.\n            dish: Its name.")))
    assert "the docstring describes dish, which is no parameter" in finding.what


def test_a_value_that_is_no_data_is_found_by_calling(environment: Write) -> None:
    target = environment(GOOD.replace("return DISHES[dish_id]", "return object()").replace("-> str", "-> Any"))
    finding = only(target)
    assert finding.severity == "error"
    assert "show(dish_id='d1') returns what is no data" in finding.what
    assert "(3 calls)" in finding.what


def test_an_exception_other_than_not_found_is_named_with_its_line(environment: Write) -> None:
    target = environment(GOOD.replace("if dish_id not in DISHES:", "if not dish_id:"))
    finding = only(target)
    assert "show(dish_id='no such thing') raises KeyError: 'no such thing'" in finding.what
    assert finding.place == line_of(target, "return DISHES[dish_id]")


def test_a_failure_of_the_machinery_is_told_apart(environment: Write) -> None:
    finding = only(environment(GOOD.replace("return DISHES[dish_id]", "raise EnvironmentFailure('server down')")))
    assert "show(dish_id='d1') failed: server down (3 calls)" in finding.what


@pytest.mark.parametrize(
    "body",
    [
        "return str(random.random())",
        "self.shared.append(1); return str(len(self.shared))",
    ],
    ids=["chance", "shared state"],
)
def test_the_same_call_with_another_result_is_found(environment: Write, body: str) -> None:
    target = environment("    shared: list[int] = []\n" + GOOD.replace("return DISHES[dish_id]", body))
    finding = only(target)
    assert finding.severity == "error"
    assert "gave another result in a second session" in finding.what


def test_an_order_that_differs_between_processes_is_found(environment: Write) -> None:
    letters = "list(set('abcdefghijklmnop'))"
    target = environment(GOOD.replace("return DISHES[dish_id]", f"return {letters}").replace("-> str", "-> list[str]"))
    finding = only(target)
    assert finding.severity == "error"
    assert "show(dish_id='d1') gave another result in another process: " in finding.what


def test_what_is_chosen_when_it_is_opened_is_found(environment: Write) -> None:
    init = "    def __init__(self):\n        self.chosen = random.random()\n"
    target = environment(init + GOOD.replace("return DISHES[dish_id]", "return str(self.chosen)"))
    assert "in another process" in only(target).what


def test_what_an_environment_prints_does_no_harm(environment: Write) -> None:
    assert found(environment("    print('hello')\n" + GOOD)) == []


def test_state_that_belongs_to_a_session_is_no_finding(environment: Write) -> None:
    body = "self.seen = getattr(self, 'seen', 0) + 1; return str(self.seen)"
    assert found(environment(GOOD.replace("return DISHES[dish_id]", body))) == []


def test_a_set_is_found_though_its_order_holds_within_a_process(environment: Write) -> None:
    target = environment(GOOD.replace("return DISHES[dish_id]", "return {'a', 'b'}").replace("-> str", "-> set[str]"))
    assert "returns a set, whose order is another in every process" in only(target).what


def test_a_result_too_long_for_a_context_is_a_warning_with_its_tokens(environment: Write) -> None:
    finding = only(environment(GOOD.replace("return DISHES[dish_id]", "return 'word ' * 4000")))
    assert (finding.severity, "5,000 tokens" in finding.what) == ("warning", True)


def test_no_records_is_a_warning_and_the_api_is_not_tried_with_what_is_there(environment: Write) -> None:
    texts = [f.what for f in found(environment(GOOD, records=""))]
    assert texts == [
        "it has no records",
        "query API show: not tried with anything that is there: no value is known for dish_id",
    ]


def test_records_in_another_order_each_time_are_found(environment: Write) -> None:
    records = "    def records(self, kind):\n        return {'dish': [{'dish_id': random.random()}]}[kind]\n"
    assert any("gives another list when asked again" in f.what for f in found(environment(GOOD, records=records)))


def test_records_that_are_no_data_are_found(environment: Write) -> None:
    records = "    def records(self, kind):\n        return {'dish': [{'dish_id': object()}]}[kind]\n"
    assert any("gives what is no data" in f.what for f in found(environment(GOOD, records=records)))


def test_ids_seen_in_one_results_are_arguments_of_another(environment: Write) -> None:
    body = '''
    @query_api
    def every(self) -> list[dict[str, str]]:
        """List all dishes."""
        return [{"dish_id": i} for i in DISHES]
'''
    target = environment(GOOD + body, records="")
    assert "query API show: 5 calls: 3 answered, 2 found nothing" in [f.what for f in found(target, "note")]


def test_every_value_of_a_literal_is_tried(environment: Write) -> None:
    body = '''
    @query_api
    def list_by(self, order: Literal["name", "id"] = "name") -> list[str]:
        """List dishes.

        Args:
            order: By what.
        """
        return {"name": ["hummus"]}[order]
'''
    assert "list_by(order='id') raises KeyError: 'id'" in only(environment(body)).what


def test_an_async_api_is_called_too(environment: Write) -> None:
    target = environment(GOOD.replace("    def show", "    async def show"))
    assert found(target) == []
    assert any("3 answered" in f.what for f in found(target, "note"))


def test_a_constructor_that_raises_is_an_error(environment: Write) -> None:
    target = environment("    def __init__(self):\n        raise KeyError('x')\n" + GOOD)
    assert "cannot be opened: KeyError: 'x'" in only(target).what


def test_a_class_without_query_apis_is_an_error(environment: Write) -> None:
    assert "it has no query API" in only(environment("")).what


def test_a_name_that_nothing_has_is_an_error() -> None:
    assert "unknown environment 'wikki'. Did you mean wiki?" in only("wikki").what


def test_tools_that_are_no_class_are_checked_too(tmp_path: Path) -> None:
    pytest.importorskip("langchain_core", reason="langchain_core is not installed")
    path = tmp_path / "tools.py"
    path.write_text(
        """
from langchain_core.tools import tool

@tool
def price(fruit: str) -> float:
    \"\"\"Look up what one fruit costs.\"\"\"
    return {"apple": 0.4}[fruit]

def tools():
    return [price]
""",
        encoding="utf-8",
    )
    target = f"langchain:{path}:tools"
    findings = found(target)
    assert {f.place for f in findings} == {target}
    assert any("price(fruit='') failed: " in f.what and "KeyError" in f.what for f in findings)
    assert any("nothing describes the parameter fruit" in f.what for f in findings)

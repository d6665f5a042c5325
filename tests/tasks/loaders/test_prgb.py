"""PRGB's records in both of their forms, with every fault that a file of them can have."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.analysis.metrics.qa import covered_match
from r_eval.errors import UserError
from r_eval.tasks.loaders import Data, format_of, load
from r_eval.tasks.loaders.base import Broken
from r_eval.tasks.loaders.prgb import LESS_NOISE, LESS_VARIANTS, OTHER_LANGUAGE, OTHER_TASK, TWICE, from_cells
from tests.tasks.loaders.conftest import Write


def record(id: str = "filter-1", **changes: Any) -> dict[str, Any]:
    return {
        "id": id,
        "query": "When was the mill built?",
        "golden_doc": ["The mill was built in X1."],
        "noise_doc_level1": [f"The sea is {n} miles off." for n in range(6)],
        "noise_doc_level2": [f"Mill {n} was built by Bo." for n in range(6)],
        "noise_doc_level3": ["Most mills are old."],
        "placeholder_item": {
            "placeholders": [{"X1": str(1980 + n)} for n in range(4)],
            "answer": [str(1980 + n) for n in range(4)],
        },
        "comment": "passed over",
        **changes,
    }


def item(*answers: str) -> dict[str, Any]:
    return {"placeholders": [{"X1": str(n)} for n, _ in enumerate(answers)], "answer": list(answers)}


CHINESE = record("filter-2", query="磨坊建于何时？", golden_doc=["磨坊建于X1年。"])
RECORDS = [record(), CHINESE, record("combination_v2-1"), record("compare_ad-1")]

Cells = Callable[[list[dict[str, Any]]], Path]


@pytest.fixture
def mixed(as_lines: Write) -> Path:
    return as_lines("prgb.jsonl", RECORDS)


@pytest.fixture(params=[json.dumps, repr], ids=["json", "python"])
def as_table(tmp_path: Path, request: pytest.FixtureRequest) -> Cells:
    """Writes records in the older form."""

    def write(records: list[dict[str, Any]]) -> Path:
        path = tmp_path / "prgb.csv"
        rows = []
        for one in records:
            row = {key: value for key, value in one.items() if key not in ("placeholder_item", "noise_doc_level3")}
            values = one["placeholder_item"]["placeholders"]
            row["placeholder"] = {token: [variant[token] for variant in values] for token in values[0]}
            row["answer"] = one["placeholder_item"]["answer"]
            rows.append({key: v if isinstance(v, str) else request.param(v) for key, v in row.items()})
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
        return path

    return write


def read(path: Path, samples: int | None = None, seed: int = 0, broken: float = 0, **settings: Any) -> Data:
    return load(path, "prgb", settings=settings, samples=samples, seed=seed, broken=broken)


def test_the_published_file_is_known_by_its_form(mixed: Path) -> None:
    assert format_of(mixed) == "prgb"


def test_the_older_form_is_known_too(as_table: Cells) -> None:
    assert format_of(as_table(RECORDS)) == "prgb"


def test_each_variant_is_a_question(mixed: Path) -> None:
    data = read(mixed, variants=4)
    assert [q.id for q in data.questions][:5] == [*(f"filter-1#{n}" for n in (1, 2, 3, 4)), "filter-2#1"]
    assert (data.records, data.asked, data.broken) == (4, 16, 0)


def test_the_gold_is_the_answer_of_the_variant(mixed: Path) -> None:
    question = read(mixed, variants="all").questions[2]
    assert (question.id, question.answers, question.evidence) == ("filter-1#3", ["1982"], ["1982"])
    assert covered_match("In 1982.", question.answers) == 1


def test_the_documents_come_with_the_question(mixed: Path) -> None:
    question = read(mixed, variants="all").questions[0]
    assert len(question.context) == 1 + 4 + 4 + 1
    assert [d.title for d in question.context] == [f"Document {n}" for n in range(1, 11)]
    assert question.meta["sources"] == ["The mill was built in 1980."]
    assert "The mill was built in 1980." in [d.text for d in question.context]


def test_what_is_known_of_a_question_is_in_its_meta(mixed: Path) -> None:
    meta = read(mixed, variants="all").questions[-1].meta
    assert meta == {
        "document": "compare_ad-1",
        "variant": 4,
        "task": "reasoning",
        "subtask": "compare_ad",
        "language": "en",
        "noise": {"weak": 4, "moderate": 4, "hard": 1},
        "text_ids": ["d2"],
        "sources": ["The mill was built in 1983."],
        "placeholders": {"X1": "1983"},
    }


def test_each_task_has_a_level(mixed: Path) -> None:
    assert read(mixed, variants=1).levels == {"KA": 1, "KS": 2, "KU": 1}
    assert load(mixed, "prgb", level="KU").levels == {"KU": 12}


def test_documents_of_a_chinese_question_have_chinese_names(mixed: Path) -> None:
    assert read(mixed, language="zh").questions[0].context[0].title == "文档1"


def test_one_task_or_one_language_is_asked_where_it_is_named(mixed: Path) -> None:
    data = read(mixed, task="filtering", language="en")
    assert {q.meta["document"] for q in data.questions} == {"filter-1"}
    assert data.left_out == {OTHER_LANGUAGE: 1, OTHER_TASK: 2}


def test_the_older_form_makes_the_same_questions(as_table: Cells, mixed: Path) -> None:
    noise = {"weak": 4, "moderate": 2}
    assert read(as_table(RECORDS), noise=noise).questions == read(mixed, noise=noise).questions


def test_noise_is_what_was_asked_for(mixed: Path) -> None:
    data = read(mixed, noise={"moderate": 2})
    assert {json.dumps(q.meta["noise"]) for q in data.questions} == {'{"weak": 0, "moderate": 2, "hard": 0}'}


def test_less_noise_and_fewer_variants_than_wanted_are_told(mixed: Path) -> None:
    data = read(mixed, variants=5, noise={"hard": 2})
    assert data.remarks == {LESS_VARIANTS: 4, LESS_NOISE: 4}
    assert {q.meta["noise"]["hard"] for q in data.questions} == {1}
    assert "4 asked though a record has less noise than is wanted" in data.notes()


def test_noise_and_order_are_the_same_for_all_variants_unless_resampled(mixed: Path) -> None:
    def shown(**settings: Any) -> set[tuple[str, ...]]:
        questions = read(mixed, task="combination", variants="all", noise={"weak": 3}, **settings).questions
        return {tuple("right" if d.text in q.meta["sources"] else d.text for d in q.context) for q in questions}

    assert len(shown()) == 1
    assert len(shown(resample=True)) > 1


def test_what_is_drawn_depends_on_the_seed_of_the_grid_or_on_ones_own(mixed: Path) -> None:
    assert read(mixed, seed=1).questions != read(mixed, seed=2).questions
    assert read(mixed, seed=1, **{}).version != read(mixed, seed=2).version
    own = [load(mixed, "prgb", settings={"seed": 5}, seed=seed) for seed in (1, 2)]
    assert own[0].questions == own[1].questions
    assert own[0].version == own[1].version


def test_the_version_is_that_of_the_settings_and_the_file(as_lines: Write, mixed: Path) -> None:
    versions = [read(mixed).version, read(mixed, variants=2).version, read(as_lines("b.jsonl", RECORDS[:3])).version]
    assert len(set(versions)) == 3
    assert read(mixed, samples=3).version == read(mixed).version


def test_a_library_gives_weak_noise_of_all_records_but_nothing_that_would_answer(as_lines: Write) -> None:
    mill = record("filter-1", noise_doc_level1=["The sea is far."])
    dike = record("filter-2", query="Who owns the dike?", golden_doc=["X1 owns the dike."])
    dike["noise_doc_level1"] = ["The mill was built in 1600.", "The mill was built in 1700. It is red.", "Cows graze."]
    path = as_lines("x.jsonl", [mill, {**dike, "noise_doc_level2": [], "noise_doc_level3": []}])
    data = read(path, library=True, noise={"weak": 50}, variants=1)
    shown = {q.meta["document"]: {document.text for document in q.context} for q in data.questions}
    assert "Cows graze." in shown["filter-1"]
    assert not any("built in 1" in text for text in shown["filter-1"] - {q.meta["sources"][0] for q in data.questions})
    assert "The sea is far." in shown["filter-2"]


@pytest.mark.parametrize("size", [3, 6, 7, 8, 9, 30])
def test_a_sample_is_of_whole_records(as_lines: Write, size: int) -> None:
    path = as_lines("many.jsonl", [record(f"filter-{n}") for n in range(10)])
    data = read(path, samples=size)
    assert len(data.questions) == size // 3 * 3
    assert len({q.meta["document"] for q in data.questions}) == size // 3


def test_a_sample_smaller_than_a_record_is_a_part_of_it(mixed: Path) -> None:
    assert len(read(mixed, samples=2).questions) == 2


def test_without_a_place_in_the_sample_questions_are_only_counted(mixed: Path) -> None:
    data = read(mixed, samples=0)
    assert (data.asked, data.questions) == (12, ())


def test_a_larger_sample_holds_the_smaller_one(as_lines: Write) -> None:
    path = as_lines("many.jsonl", [record(f"filter-{n}") for n in range(10)])
    samples = [{q.id for q in read(path, samples=size).questions} for size in (3, 9, 21)]
    assert samples[0] < samples[1] < samples[2]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"placeholder_item": item("1980", "a|")}, "placeholder_item: answer 2 ('a|'), column 3: a text is missing"),
        ({"placeholder_item": item("Paris (France)")}, "answer 1 ('Paris (France)'), column 7: '&' or '|' is missing"),
        ({"placeholder_item": item("a & (b")}, "answer 1 ('a & (b'), column 5: a '(' that is not closed"),
        ({"placeholder_item": item("")}, "placeholder_item.answer.0: is empty"),
        ({"placeholder_item": {"placeholders": [{"X1": "1"}], "answer": ["1", "2"]}}, "1 variants of the placeholders"),
        ({"placeholder_item": {"placeholders": [{"X1": "1"}]}}, "placeholder_item.answer is missing"),
        ({"placeholder_item": {"placeholders": [], "answer": []}}, "holds no variant"),
        (
            {"placeholder_item": "nothing"},
            "placeholder_item: is neither JSON nor a list as Python writes it: 'nothing'",
        ),
        ({"placeholder_item": None}, "placeholder_item"),
        ({"golden_doc": []}, "golden_doc: holds no document"),
        ({"golden_doc": None}, "golden_doc: must be a list"),
        ({"noise_doc_level2": [""]}, "noise_doc_level2.0: is empty"),
        ({"query": "  "}, "query: is empty"),
        ({"query": "\ud800?"}, "query: holds half of a surrogate pair"),
    ],
)
def test_a_broken_record_is_told_with_its_place_and_id(as_lines: Write, changes: dict[str, Any], why: str) -> None:
    data = read(as_lines("x.jsonl", [record(), record("filter-9", **changes)]), broken=0.5)
    (fault,) = data.faults
    assert fault.place.endswith("x.jsonl:2: record filter-9")
    assert why in fault.why
    assert (data.records, data.asked, data.broken) == (2, 3, 1)


@pytest.mark.parametrize(
    "part", ["id", "query", "golden_doc", *(f"noise_doc_level{n}" for n in (1, 2, 3)), "placeholder_item"]
)
def test_no_part_of_a_record_may_be_missing(as_lines: Write, part: str) -> None:
    short = {key: value for key, value in record("filter-9").items() if key != part}
    (fault,) = read(as_lines("x.jsonl", [record(), short]), broken=0.5).faults
    assert fault.why == f"{part} is missing"


def test_broken_records_are_counted_as_records_and_not_as_questions(as_lines: Write) -> None:
    path = as_lines("x.jsonl", [record("filter-1"), record("filter-2", query="")])
    with pytest.raises(
        UserError, match=r"1 of 2 records are broken, more than broken: 0\.4 allows: .*:2: record filter-2"
    ):
        read(path, broken=0.4)


@pytest.mark.parametrize("samples", [None, 9])
def test_an_id_that_stands_twice_is_asked_once(as_lines: Write, samples: int | None) -> None:
    data = read(as_lines("x.jsonl", [record(), record(query="Else?")]), samples=samples)
    assert {q.question for q in data.questions} == {"When was the mill built?"}
    assert data.left_out == {TWICE: 1}


def test_a_line_that_is_no_json_is_one_broken_record(as_lines: Write, tmp_path: Path) -> None:
    path = as_lines("x.jsonl", [record()])
    path.write_text(path.read_text(encoding="utf-8") + "{\n", encoding="utf-8")
    assert str(read(path, broken=0.5).faults[0]).startswith(f"{path}:2: not valid JSON")


def test_what_is_odd_is_told_and_asked_all_the_same(as_lines: Write) -> None:
    data = read(as_lines("x.jsonl", [record(golden_doc=["The mill is old."])]))
    assert "1 asked though a placeholder stands in none of the right documents" in data.notes()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"variants": 0}, "variants"),
        ({"variants": "some"}, "variants"),
        ({"noise": {"weak": -1}}, "noise.weak"),
        ({"noise": {"strong": 1}}, "noise.strong"),
        ({"task": "filter"}, "task"),
        ({"language": "fr"}, "language"),
        ({"variant": 1}, "unknown setting 'variant'"),
    ],
)
def test_a_wrong_setting_is_told(mixed: Path, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=f"format 'prgb': .*{why}"):
        load(mixed, "prgb", settings=settings)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', \"b's\"]", ["a", "b's"]),
        ("['it\\'s', 'x\\\\y', 'n\\nl']", ["it's", "x\\y", "n\nl"]),
        ("['\\u5317', '\\xe9', '\\U0001f600', '\\d']", ["北", "é", "😀", "\\d"]),
        ("('a', 'b',)", ["a", "b"]),
        ("[1, -2.5, None, True]", [1, -2.5, None, True]),
        ("['a[b]', 'c: {d}']", ["a[b]", "c: {d}"]),
        ("", []),
    ],
)
def test_a_cell_holds_a_list_as_json_or_as_python_writes_it(cell: str, value: list[Any]) -> None:
    read = from_cells({"golden_doc": cell, "placeholder": '{"X1": []}', "answer": "[]"})
    assert read["golden_doc"] == value


@pytest.mark.parametrize("cell", ["[open('x')]", "__import__('os')", "['a' 'b']", "[", "'" * 3, "[" * 9999, "[1+1]"])
def test_a_cell_that_is_no_list_is_refused(cell: str) -> None:
    with pytest.raises(Broken, match="golden_doc: is neither JSON nor a list"):
        from_cells({"golden_doc": cell, "placeholder": "{}", "answer": "[]"})


@pytest.mark.parametrize(
    ("placeholder", "why"),
    [
        ("{'X1': ['a', 'b'], 'X2': ['c']}", r"different numbers of values \(X1 2, X2 1\)"),
        ("['a']", "no mapping"),
        ("{'X1': 'a'}", "no mapping"),
    ],
)
def test_placeholders_of_the_older_form_have_as_many_values_each(placeholder: str, why: str) -> None:
    with pytest.raises(Broken, match=why):
        from_cells({"placeholder": placeholder, "answer": "['a']"})


@given(st.recursive(st.text() | st.integers(-9, 9), lambda inner: st.lists(inner, max_size=3), max_leaves=6))
def test_whatever_python_writes_is_read(value: Any) -> None:
    read = from_cells({"golden_doc": repr([value]), "placeholder": "{}", "answer": "[]"})
    assert read["golden_doc"] == [value]


@given(st.text(st.one_of(st.sampled_from("[]{}()'\"\\,:1a "), st.characters()), max_size=30))
def test_any_cell_is_read_or_refused(cell: str) -> None:
    with contextlib.suppress(Broken):
        assert set(from_cells({"golden_doc": cell, "placeholder": "{}", "answer": "[]"})) > {"golden_doc"}


def test_a_row_with_a_cell_too_few_is_broken(as_table: Cells) -> None:
    path = as_table([record(), record("filter-2")])
    row = io.StringIO(path.read_text(encoding="utf-8")).readline().count(",")
    path.write_text(path.read_text(encoding="utf-8") + "only this\n", encoding="utf-8")
    (fault,) = read(path, noise={"weak": 1}, broken=0.5).faults
    assert row > 1
    assert fault.why == "not as many fields as the heading has"

"""Records are made of a world, and the embedded question files are what their worlds give."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from r_eval.analysis.metrics.qa import covered_match
from r_eval.errors import UserError
from r_eval.tasks import base
from r_eval.tasks.placeholders.making import make_records
from r_eval.tasks.placeholders.record import substitute
from r_eval.tasks.placeholders.world import RECORDS, World, read_world
from r_eval.tasks.questions import write_questions
from scripts.data.tasks import of_world
from tests.commands import typed_here
from tests.tasks.conftest import write_llm

FOLDER = base.task_files()["prgb/filtering"].parent
WORLDS = {name: read_world(FOLDER / f"{name}.placeholders.yaml") for name in ("en", "zh")}
MADE = {name: make_records(world) for name, world in WORLDS.items()}
LEVELS = ("noise_doc_level1", "noise_doc_level2", "noise_doc_level3")

every_language = pytest.mark.parametrize("language", sorted(WORLDS))


def of(language: str, subtask: str) -> list[dict[str, Any]]:
    return [record for record in MADE[language] if record["id"].startswith(f"{subtask}-")]


def variants(record: Mapping[str, Any]) -> list[tuple[dict[str, str], str]]:
    item = record["placeholder_item"]
    return list(zip(item["placeholders"], item["answer"], strict=True))


@every_language
def test_the_embedded_question_files_are_what_the_world_gives(language: str, tmp_path: Path) -> None:
    for name, found in of_world(FOLDER / f"{language}.placeholders.yaml"):
        write_questions(tmp_path / "made.jsonl", found)
        assert (tmp_path / "made.jsonl").read_bytes() == (FOLDER / f"{name}.questions.jsonl").read_bytes()


@every_language
def test_no_value_stands_in_the_noise_or_in_another_variant(language: str) -> None:
    for record in MADE[language]:
        values = [value for filled, _ in variants(record) for value in filled.values()]
        noise = "\n".join(text for level in LEVELS for text in record[level])
        assert len(set(values)) == len(values)
        assert [value for value in values if re.search(rf"(?<!\d){re.escape(value)}(?!\d)", noise)] == []


@every_language
def test_the_answer_of_a_variant_is_that_of_no_other(language: str) -> None:
    for record in MADE[language]:
        answers = [answer for _, answer in variants(record)]
        assert len(set(answers)) == 3
        for filled, answer in variants(record):
            golden_text = " ".join(substitute(text, filled) for text in record["golden_doc"])
            assert covered_match(golden_text, [answer]) == 1


@every_language
def test_what_answers_is_as_its_sub_task_says(language: str) -> None:
    golden = {key: [len(record["golden_doc"]) for record in of(language, key)] for key in RECORDS}
    assert {key: set(counts) for key, counts in golden.items()} == {
        "filter": {1},
        "combination_v1": {2},
        "combination_v2": {3},
        "combination_v3": {3},
        "comp": {3},
        "compare_ad": {4},
        "deductive_v1": {2, 3},
        "deductive_v2": {3},
    }
    for record in of(language, "deductive_v1"):  # a fact of its own comes before the rule of the kind
        own = len(record["golden_doc"]) == 3
        assert all(answer == filled["X2" if own else "X1"] for filled, answer in variants(record))
    for record in of(language, "compare_ad"):  # the rule of the kind tells which value is shared
        assert all(
            filled[re.findall(r"X\d", record["golden_doc"][3])[0]] == answer for filled, answer in variants(record)
        )


@pytest.mark.parametrize(
    ("reply", "noise", "said"),
    [
        ("'Come in. ' + fact + ' It is nice.'", "Come in. A has seven wheels. It is nice.", ""),
        ("'Come in.'", "A has seven wheels.", "6 documents without the sentence, or with it twice"),
        ("fact", "A has seven wheels.", "6 documents of the sentence alone"),
        ("'Room 7: ' + fact", "A has seven wheels.", "6 documents with a number or the value besides"),
    ],
)
def test_an_llm_writes_the_documents_around_the_facts(reply: str, noise: str, said: str, tmp_path: Path) -> None:
    llm = write_llm(tmp_path, reply.replace("fact", "re.search(r'not as the first one: (.*)', text)[1]"))
    wanted = {"records": {"filter": 2}, "variants": 2, "llm": llm}
    world = World.model_validate(small(placeholders=wanted, facts={"A": {"wheels": "seven"}}))
    (tmp_path / "world.yaml").write_text(world.model_dump_json(by_alias=True, exclude_none=True), encoding="utf-8")
    done = typed_here(["generate", "world.yaml", "--out", "r.jsonl"], tmp_path)
    assert done.stderr == ""
    kept = f"; not written by the LLM: {said}" if said else ""
    assert (done.returncode, done.stdout) == (0, f"r.jsonl: 2 records with 4 variants{kept}\n")
    records = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()]
    assert noise in {text for record in records for text in record["noise_doc_level2"]}
    assert all("X1" in record["golden_doc"][0] for record in records)


def small(**changes: Any) -> dict[str, Any]:
    mill = {
        "fact": "{name} has {value} wheels.",
        "general": "A {kind} has {value} wheels.",
        "ask": "Has {name} wheels?",
    }
    kinds = {"mill": {"dimensions": ["wheels"], "members": ["A", "B", "C"]}}
    world = {"values": {"n": {"from": 10, "to": 99}}, "dimensions": {"wheels": {"values": "n", **mill}}, "kinds": kinds}
    return {"placeholders": {"records": {"filter": 2}, "variants": 2}, **world, **changes}


def test_facts_of_ones_own_stand_in_the_noise(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("subject\trelation\tobject\nA\twheels\tseven\nZ\twheels\t1\n", encoding="utf-8")
    (tmp_path / "world.yaml").write_text(json.dumps(small(triples="own.tsv")), encoding="utf-8")
    records = make_records(read_world(tmp_path / "world.yaml"))
    assert "A has seven wheels." in {text for record in records for text in record["noise_doc_level2"]}


def test_too_few_values_are_told_with_their_sort() -> None:
    with pytest.raises(UserError, match=r"values\.n: too few of them for the variants of filter-1"):
        make_records(World.model_validate(small(values={"n": {"of": ["one", "two", "three", "four"]}})))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"values": {}}, "there are none called 'n'"),
        ({"values": {"n": {"from": 3, "to": 1}}}, "from is 3, which is above to, 1"),
        ({"facts": {"A": {"wheels": False}}}, "should be a valid string"),
        ({"facts": {"A": {"wheels": None}}}, "should be a valid string"),
        ({"facts": {"Q": {"wheels": 3}}}, "'Q' is a member of no kind"),
        ({"kinds": {"mill": {"dimensions": ["sails"], "members": ["A", "B", "C"]}}}, "there is no dimension 'sails'"),
        ({"kinds": {"mill": {"dimensions": ["wheels"], "members": ["A", "B", "A"]}}}, "'A' is a member twice"),
    ],
)
def test_what_is_wrong_in_a_world_is_told(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        World.model_validate(small(**change))

"""Drafts of an LLM are kept where they are templates, new, and their questions hold."""

from __future__ import annotations

import asyncio
import collections
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from r_eval.environments.sandbox import Sandbox
from r_eval.scaffold import new_domain
from r_eval.tasks.llm_client import LLMClient
from r_eval.tasks.questions import read_questions
from r_eval.tasks.suggest import drafts, suggest
from r_eval.tasks.templates import Template, read_templates
from tests import documents
from tests.tasks.conftest import write_llm
from tests.towns import BASE, Town

CITY = """
- id: city
  level: KS
  from: person
  question: Where does {{ person.name }}, aged {{ person.age }}, live?
  program: |
    answer = [p["city"] for p in find(name=person["name"]) if p["age"] == person["age"]]
"""


def suggested(sandbox: Sandbox, folder: Path, reply: str) -> tuple[list[Template], collections.Counter[str]]:
    async def every() -> tuple[list[Template], collections.Counter[str]]:
        async with LLMClient(write_llm(folder, repr(reply))) as speaker:
            return await suggest(Town(), [Template.model_validate(BASE)], speaker, sandbox, 3)

    return asyncio.run(every())


@pytest.mark.parametrize(
    ("reply", "id"),
    [
        (f"```yaml\n{CITY}\n```", "city"),
        (f"Here you are:\n```\n{CITY}```\nEnjoy.", "city"),
        (f"templates:\n{CITY}", "city"),
        ("Sure: " + json.dumps(yaml.safe_load(CITY)), "city"),
        (CITY.replace("id: city", "id: age"), "draft-1"),  # age is known already
    ],
)
def test_a_draft_that_holds_is_kept_once(sandbox: Sandbox, tmp_path: Path, reply: str, id: str) -> None:
    templates, dropped = suggested(sandbox, tmp_path, reply)
    assert [t.id for t in templates] == [id]
    assert dropped == {"not new": 3}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"question": ...}, "not a template"),
        ({"level": "hard"}, "not a template"),
        ({"from": "dragon"}, "does not fit the records"),
        ({"program": 'answer = person["city"]'}, "calls no API"),
        ({"program": "answer = find(nom='x')"}, "program: bad_arguments"),
        ({"program": "answer = living_in(city='Nowhere')"}, "empty answer"),
        ({"program": "while find(name='Ada'):\n    pass"}, "program: calls"),
        ({"where": 'person["age"] > 80'}, "too few records"),
        ({"program": "answer = len(find(name='Ada'))"}, "always the same answer"),
        ({"question": "How old is {{ person.name }}  of {{ person.city }} ?"}, "not new"),
    ],
    ids=str,
)
def test_a_draft_that_does_not_hold_is_counted(
    sandbox: Sandbox, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    draft = {k: v for k, v in {**yaml.safe_load(CITY)[0], **change}.items() if v is not ...}
    templates, dropped = suggested(sandbox, tmp_path, yaml.safe_dump([draft]))
    assert (templates, set(dropped)) == ([], {reason})


def test_an_alias_of_yaml_is_no_draft() -> None:
    bomb = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))])
    assert not [one for one in drafts(bomb) if isinstance(one, dict)]


# The command


AMINER = """
- id: venue
  level: KS
  from: publication
  question: At which venue was "{{ publication.title }}" published?
  program: |
    found = searchPublication(publication_info=publication["title"])
    answer = [p["venue"] for p in [getPublication(publication_id=f["pub_id"]) for f in found[:1]]]
- id: broken
  level: KS
  from: publication
  question: What is it, {{ publication.title }}?
  program: answer = searchPublication(title="x")
- nonsense
"""


def test_the_command_writes_a_file_that_generate_takes(tmp_path: Path) -> None:
    llm = write_llm(tmp_path, f"{AMINER!r} if 'searchPerson' in text else ''")
    done = documents.typed(f"r-eval data suggest-templates aminer --llm {llm} --out new.yaml --count 2", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("new.yaml: 1 templates; dropped: ")
    assert "program: bad_arguments" in done.stdout
    assert "not a template" in done.stdout
    assert [t.id for t in read_templates(tmp_path / "new.yaml").templates] == ["venue"]
    made = documents.typed("r-eval generate new.yaml --count 3 --out q.jsonl", tmp_path)
    assert made.returncode == 0, made.stderr


def test_generate_rewords_on_request(tmp_path: Path) -> None:
    recipes = new_domain("recipes", tmp_path / "recipes")
    write_llm(recipes, "'Please: ' + text.split('Question: ')[1].split('\\n')[0]")
    line = "r-eval generate templates.yaml --count 5 --out q.jsonl --paraphrase scripted/writer.py:write"
    done = documents.typed(line, recipes)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("not reworded: none\n")
    assert all(q.question.startswith("Please: ") for q in read_questions(recipes / "q.jsonl"))

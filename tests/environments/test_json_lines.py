"""A file of scholars, pages or documents that is wrong is refused, with the line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.opening import open_environment
from r_eval.errors import UserError
from tests.environments.conftest import json_lines

SETTING = {"aminer": "scholars", "wiki": "pages", "corpus": "documents"}
ADA = {"name": "Ada Okello", "id": "a1"}
PAGE = {"title": "Kenya", "text": "Kenya is a country."}
TEXT = {"id": "0", "text": "Right."}


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("aminer", [], "holds no scholar"),
        ("aminer", [ADA, {"organization": "x"}], ":2: name"),
        ("aminer", [{"nmae": "Ada"}], ":1: name"),
        ("aminer", [ADA, ADA], ":2: Ada Okello is in line 1 already"),
        ("aminer", [{"name": "A", "id": "a b"}], ":1: id: 'a b' cannot be an id"),
        ("aminer", [ADA, {"title": "T", "authors": ["a1", "b2"]}], ":2: no scholar has the id 'b2'"),
        ("aminer", [ADA, {"name": "B", "advisor": "b2"}], ":2: no scholar has the id 'b2'"),
        ("aminer", [{"name": "A", "publications": [{"title": ""}]}], ":1: publications.0.title"),
        ("aminer", [{"name": "A", "work": [["Professor"]]}], ":1: work"),
        ("wiki", [], "holds no page"),
        ("wiki", ["[]"], ":1: "),
        ("wiki", [PAGE, {"title": "A"}], ":2: a page needs text"),
        ("wiki", [PAGE, "", PAGE], ":3: another page has the title 'Kenya'"),
        ("wiki", [{"titel": "A", "text": "b"}], ":1: title"),
        ("wiki", [{"title": " ", "text": "b"}], ":1: the title ' ' has no letter"),
        ("wiki", [{"title": "A", "text": ["b"]}], ":1: text"),
        ("corpus", [TEXT, '{"text": "x"}'], ":2: id: Field required"),
        ("corpus", [TEXT, '{"id": true, "text": "x"}'], "must be a text, not True"),
        ("corpus", [TEXT, '{"id": "a\\nb", "text": "x"}'], "must be one line"),
        ("corpus", [TEXT, '{"id": 1, "text": " "}'], ":2: the text is empty"),
        ("corpus", [TEXT, '{"id": 1, "text": 5}'], ":2: text: must be a text, not 5"),
        ("corpus", [TEXT, '{"id": "0", "text": "again"}'], ":2: duplicate id '0'"),
        *((name, [line], ":1: not a JSON object") for name in SETTING for line in ("{", "[" * 100_000)),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_line(
    name: str, lines: list[Any], message: str, tmp_path: Path
) -> None:
    expected = re.escape(f"file.jsonl{message}") if message[0] == ":" else message
    with pytest.raises(UserError, match=expected):
        open_environment(name, {SETTING[name]: json_lines(tmp_path / "file.jsonl", *lines)})

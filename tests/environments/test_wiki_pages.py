"""A wiki of one's own pages: what is found in it, and which files are refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from r_eval.environments.opening import open_environment
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError

PAGES: list[dict[str, Any]] = [
    {"title": "Kenya", "text": "Kenya is a country.\n\nIts capital is Nairobi.", "redirects": ["Republic of Kenya"]},
    {"title": "Mercury (planet)", "text": "Mercury is a planet.", "description": "nearest to the Sun"},
    {"title": "Mercury", "choices": ["Mercury (planet)"]},
    {"title": "内罗毕", "text": "内罗毕是肯尼亚的首都。"},
    {"title": "القاهرة", "text": "القاهرة عاصمة مصر 🏙"},
]


def written(folder: Path, *lines: Any) -> str:
    path = folder / "pages.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return str(path)


def ask(pages: str, *calls: tuple[str, str]) -> list[str]:
    session = Session(open_environment("wiki", {"pages": pages}), Sandbox())

    async def asked() -> list[str]:
        return [(await session.call(api, {}, [text])).observation for api, text in calls]

    return asyncio.run(asked())


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Kenya", "Kenya is a country."),
        ("republic of kenya", "Kenya is a country."),
        ("Mercury", "Mercury may refer to:\nMercury (planet): nearest to the Sun"),
        ("内罗毕", "内罗毕是肯尼亚的首都。"),
        ("القاهرة", "القاهرة عاصمة مصر 🏙"),
    ],
)
def test_a_page_is_found(title: str, expected: str, tmp_path: Path) -> None:
    assert ask(written(tmp_path, *PAGES), ("Search", title)) == [expected]


def test_lookup_reads_the_rest_of_the_page(tmp_path: Path) -> None:
    assert "Nairobi" in ask(written(tmp_path, *PAGES), ("Search", "Kenya"), ("Lookup", "capital"))[1]


def test_other_pages_are_another_version(tmp_path: Path) -> None:
    before = open_environment("wiki", {"pages": written(tmp_path, *PAGES)}).version
    assert open_environment("wiki", {"pages": written(tmp_path, *PAGES[1:])}).version != before


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "holds no page"),
        (["{"], r"pages\.jsonl:1: not a JSON object"),
        (["[]"], r"pages\.jsonl:1: "),
        ([PAGES[0], {"title": "A"}], r"pages\.jsonl:2: a page needs text"),
        ([PAGES[0], "", PAGES[0]], r"pages\.jsonl:3: another page has the title 'Kenya'"),
        ([{"titel": "A", "text": "b"}], r"pages\.jsonl:1: titel"),
        ([{"title": " ", "text": "b"}], r"pages\.jsonl:1: the title ' ' has no letter"),
        ([{"title": "A", "text": ["b"]}], r"pages\.jsonl:1: text"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_line(lines: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        open_environment("wiki", {"pages": written(tmp_path, *lines)})

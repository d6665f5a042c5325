"""A small wiki, the same in three forms: a snapshot, a ZIM file, the text of a real MediaWiki."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from r_eval.environments.base import NotFound
from r_eval.environments.wiki import Wiki
from tests import mediawiki


class Choice(NamedTuple):
    title: str
    description: str


def refusal(call: Callable[[str], str], argument: str) -> str:
    """The message of a `NotFound`."""
    with pytest.raises(NotFound) as caught:
        call(argument)
    return str(caught.value)


PAGES = {
    "Kenya": [
        "Kenya is a country in Africa.",
        "It borders Uganda & Tanzania.",
        "== History ==",
        "Nairobi was founded in 1899.",
        "=== The colony ===",
        "The first railway reached Nairobi.",
        "== Economy ==",
        "Tea & coffee are grown < 3,000 metres.",
    ],
    "Uganda": ["Uganda is a country in Africa.", "== Cities ==", "Kampala is on no railway."],
    "Japan": ["Japan is an island country.", "== Cities ==", "Its capital is Tokyo."],
    "東京": ["東京は日本の首都である。", "== 歴史 ==", "江戸と呼ばれた。"],
    "Émile Zola": ["Émile Zola was a writer.", "== Works ==", "He wrote Germinal."],
    '"Heroes" (album)': ['"Heroes" is an album.', "== Songs ==", "One is called Blackout."],
    "What Is to Be Done?": ["What Is to Be Done? is a novel.", "== Plot ==", "Vera leaves home."],
    "AC/DC": ["AC/DC is a band.", "== Members ==", "Angus Young plays the guitar."],
    "می‌خواهم": ["می‌خواهم is a Persian word.", "== Use ==", "It has an invisible mark."],
    "C": ["C is a letter.", "== Use ==", "It stands for carbon."],
    "Mercury (planet)": ["Mercury is a planet.", "== Orbit ==", "It is the nearest to the Sun."],
    "Mercury (element)": ["Mercury is a metal.", "== Use ==", "It was used in thermometers."],
    "Victoria (lake)": ["Lake Victoria is a lake.", "== Shores ==", "Kampala lies near it."],
    "Victoria (queen)": ["Victoria was a queen.", "== Reign ==", "It lasted 63 years."],
}
REDIRECTS = {"Nippon": "Japan", "Land of tea": "Kenya"}
CHOICES = {
    "Mercury": [Choice("Mercury (planet)", "the planet nearest to the Sun"), Choice("Mercury (element)", "a metal")],
    "Victoria": [Choice("Victoria (lake)", "a lake in Africa"), Choice("Victoria (queen)", "")],
}
STARTS = {
    "Mercury": "'''Mercury''' may refer to:",
    "Victoria": f"{mediawiki.PROPERTY}'''Victoria''' is the name of several things.",
}
TALK = {"Talk:Kenya": ["Shall we say more of tea?"]}


def snapshot(folder: Path) -> Wiki:
    described = {choice.title: choice.description for choices in CHOICES.values() for choice in choices}
    pages: list[dict[str, Any]] = []
    for title, blocks in PAGES.items():
        about = {
            "description": described.get(title, ""),
            "redirects": [n for n, to in REDIRECTS.items() if to == title],
        }
        pages.append({"title": title, "text": "\n\n".join(blocks), **about})
    pages += [{"title": name, "choices": [choice.title for choice in choices]} for name, choices in CHOICES.items()]
    path = folder / "pages.jsonl"
    path.write_text("".join(json.dumps(page) + "\n" for page in pages), encoding="utf-8")
    return Wiki(str(path))


def rendered(title: str, blocks: list[str]) -> str:
    """An article as MediaWiki renders it, with what is around the text."""
    parts = []
    for block in blocks:
        heading = re.fullmatch(r"(={2,}) (.*) \1", block)
        edit = '<span class="mw-editsection">[<a href="edit">edit</a>]</span>'
        level = f"h{len(heading[1])}" if heading else ""
        inner = f"{html.escape(heading[2])}{edit}" if heading else html.escape(block)
        parts.append(f"<{level}>{inner}</{level}>" if heading else f"<p>{inner}<sup class='reference'>[1]</sup>\n</p>")
    note = '<div role="note" class="hatnote">For the rest, see <a href="Uganda" class="mw-disambig">Uganda</a>.</div>'
    box = "<table class='infobox'><tr><td>Nairobi, tea, railway</td></tr></table>"
    foot = "<ol class='references'><li>Nairobi</li></ol><div class='navbox'>Nairobi</div><script>Nairobi()</script>"
    head = f"<head><title>{html.escape(title)}</title><style>.Nairobi {{}}</style></head>"
    body = f'<h1>{html.escape(title)}</h1><div class="mw-parser-output">{note}{box}{"".join(parts)}{foot}</div>'
    return f"<!DOCTYPE html><html>{head}<body>{body}</body></html>"


def offering(name: str) -> str:
    """A disambiguation page as MediaWiki renders it, with a line that leads nowhere."""
    start = STARTS[name].replace("'''", "").removeprefix(mediawiki.PROPERTY).partition(" [[")[0]
    lines = "".join(
        f'<li><a href="./{c.title.replace(" ", "_")}">{c.title}</a>{", " if c.description else ""}{c.description}</li>'
        for c in [*CHOICES[name], Choice("Nowhere", "in no file")]
    )
    box = '<div id="disambigbox"></div>' if name == "Victoria" else ""
    return f"<html><body>{box}<p>{start}</p><h2>Things</h2><ul>{lines}</ul></body></html>"


def zim(folder: Path) -> Wiki:
    pytest.importorskip("lxml", reason="reading HTML needs lxml")
    writer: Any = pytest.importorskip("libzim.writer", reason="ZIM files need libzim")

    class Item(writer.Item):  # type: ignore[misc]
        def __init__(self, title: str, path: str, content: str, mimetype: str = "text/html") -> None:
            super().__init__()
            self.title, self.path, self.content, self.mimetype = title, path, content, mimetype

        def get_title(self) -> str:
            return self.title

        def get_path(self) -> str:
            return self.path

        def get_mimetype(self) -> str:
            return self.mimetype

        def get_contentprovider(self) -> Any:
            return writer.StringProvider(self.content)

        def get_hints(self) -> dict[Any, Any]:
            return {writer.Hint.FRONT_ARTICLE: self.mimetype == "text/html"}

    path = folder / "wiki.zim"
    with writer.Creator(path).config_indexing(True, "eng") as creator:
        creator.set_mainpath("Kenya")
        for title, blocks in PAGES.items():
            creator.add_item(Item(title, title.replace(" ", "_"), rendered(title, blocks)))
        for name in CHOICES:
            creator.add_item(Item(name, name, offering(name)))
        for name, target in REDIRECTS.items():
            is_front = {writer.Hint.FRONT_ARTICLE: True}
            creator.add_redirection(name.replace(" ", "_"), name, target.replace(" ", "_"), is_front)
        creator.add_item(Item("", "style.css", "p {}", "text/css"))
        creator.add_metadata("Language", "eng")
    return Wiki(source="zim", zim=str(path))


def wikitext() -> dict[str, str]:
    texts = {title: "\n\n".join(html.escape(block, quote=False) for block in blocks) for title, blocks in PAGES.items()}
    texts |= {title: "\n\n".join(blocks) for title, blocks in TALK.items()}
    texts |= {name: f"#REDIRECT [[{target}]]" for name, target in REDIRECTS.items()}
    for name, choices in CHOICES.items():
        lines = [f"* [[{c.title}]]{', ' if c.description else ''}{c.description}" for c in choices]
        texts[name] = "\n".join([STARTS[name], "== Things ==", *lines, "* [[Nowhere]], in no wiki"])
    return texts


def live(server: mediawiki.Served, cache: Path, **settings: Any) -> Wiki:
    pytest.importorskip("requests_cache", reason="a live wiki needs requests-cache (extra wiki)")
    pytest.importorskip("lxml", reason="reading HTML needs lxml")
    return Wiki(source="live", api_url=server.api_url, cache=str(cache), **({"requests_per_second": 200} | settings))

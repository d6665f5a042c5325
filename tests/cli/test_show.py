"""`r-eval show`: which episodes it lists, which transcript it prints, and that it reads no more than it shows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from r_eval import Grid, run
from tests.commands import typed_here

LLM = """
def reply(request):
    if request.messages[-1].content.startswith("Question:"):
        return 'Thought: \\x1b[31mLook.\\nAction: searchPerson(name="Åse 東京")'
    return "Action: Finish[Ada\\u202e]"
"""
GRID = """
llms: [{llm: scripted/./llm.py:reply, name: known}]
workflows: [react, oracle]
tasks: [aminer/soay-easy, aminer/soay-hard]
samples: 3
shots: 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, scored."""
    path = tmp_path_factory.mktemp("ran")
    (path / "llm.py").write_text(LLM, encoding="utf-8")
    (path / "grid.yaml").write_text(GRID, encoding="utf-8")
    assert run(Grid.load(path / "grid.yaml"), path / "runs" / "grid").state == "complete"
    return path


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """The run in a folder that may be changed."""
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy"


def show(folder: Path, *words: str, status: int = 0) -> str:
    done = typed_here(["show", "runs/grid", *words], folder)
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def rows(folder: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(show(folder, *words, "--json"))
    return found


def test_the_list_has_a_line_for_every_episode(folder: Path) -> None:
    head, *lines, last = show(folder).splitlines()
    assert head.split() == ["id", "system", "task", "condition", "score", "type", "cause", "answer"]
    assert len(lines) == 12
    assert last == "12 episodes; r-eval show runs/grid ID prints a transcript"
    first = next(line for line in lines if "react+known" in line).split()
    assert first[1:6] == ["react+known", "aminer/soay-easy", "clean", "0.0", "RE"]
    assert first[-1] == "Ada\\u202e"


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (("--type", "re"), 6),
        (("--type", "EM"), 6),
        (("--type", "RE", "--type", "EM"), 12),
        (("--type", "TE"), 0),
        (("--task", "aminer/soay-easy"), 6),
        (("--task", "*hard", "--system", "oracle+*"), 3),
    ],
)
def test_filters_hold_together(folder: Path, words: tuple[str, ...], number: int) -> None:
    assert len(rows(folder, *words)) == number
    assert f"{number} episodes; r-eval show" in show(folder, *words)


def test_a_unique_beginning_names_an_episode(folder: Path) -> None:
    ids = [row["episode_id"] for row in rows(folder)]
    for number in range(1, 17):
        if sum(key.startswith(ids[0][:number]) for key in ids) == 1:
            assert show(folder, ids[0][:number]) == show(folder, ids[0])
            break
    text = show(folder, ids[0])
    assert 'searchPerson(name="Åse 東京")\n      0 results.\n' in text
    assert "\x1b" not in text
    assert "\\u001b[31mLook." in text
    assert "finished\ntoken_f1 0.0, response type RE (reasoning error)" in text


def test_a_wrong_id_names_near_ones_and_a_short_one_the_ids_it_begins(folder: Path) -> None:
    ids = [row["episode_id"] for row in rows(folder)]
    wrong = ids[0][:-1] + ("0" if ids[0][-1] != "0" else "1")
    assert f"Did you mean {ids[0]}" in show(folder, wrong, status=2)
    start = next(key[0] for key in ids if sum(other[0] == key[0] for other in ids) > 1)
    said = show(folder, start, status=2)
    assert f"episodes begin with {start}: " in said
    assert all(key in said for key in ids if key[0] == start)


def test_a_transcript_needs_no_other_line_to_be_whole(copy: Path) -> None:
    key = rows(copy)[0]["episode_id"]
    for path in (copy / "runs" / "grid" / "episodes").rglob("*.jsonl"):
        lines = path.read_text("utf-8").splitlines()
        kept = [
            line if key in line else f'{{"schema":1,"episode_id":"{n:016x}", damaged' for n, line in enumerate(lines)
        ]
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    text = show(copy, key)
    assert text.startswith(f"{key}  react+known  aminer/soay-easy  clean\n")
    assert "not scored yet: r-eval score runs/grid" in text, "the kept score is older than the episodes"


def test_of_an_episode_that_was_tried_again_the_newest_line_is_shown(copy: Path) -> None:
    row = rows(copy)[0]
    path = next(p for p in (copy / "runs/grid/episodes").rglob("*.jsonl") if row["episode_id"] in p.read_text("utf-8"))
    line = next(one for one in path.read_text("utf-8").splitlines() if row["episode_id"] in one)
    record = json.loads(line) | {"answer": "Grace", "checksum": ""}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, separators=(",", ":")) + "\n")
    assert [one["answer"] for one in rows(copy) if one["episode_id"] == row["episode_id"]] == ["Grace"]
    found = json.loads(show(copy, row["episode_id"], "--json"))
    assert found["episode"]["answer"] == "Grace"
    assert found["episode"]["episode_id"] == found["score"]["episode_id"] == row["episode_id"]


def test_prompt_prints_the_messages_that_were_sent(folder: Path) -> None:
    text = show(folder, rows(folder)[0]["episode_id"], "--prompt")
    assert "\n      sent " in text
    assert "\n      [0] system\n      AMiner, a database of scholars" in text
    assert text.count("      AMiner, a database of scholars") == 1
    assert "Observation 1: 0 results." in text

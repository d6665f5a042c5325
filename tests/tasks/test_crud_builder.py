"""`r-eval data crud`: what a scripted LLM makes of embedded reports, each filter firing, and a grid over the result."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from r_eval.environments.corpus.sources import read_documents
from r_eval.tasks.loaders import load
from tests.commands import typed_here
from tests.tasks.conftest import write_llm

BRIDGE, KITE, ALONE = ("009", "030", "046"), ("018", "004", "057"), ("010",)
SCRIPT = """
import json, re
from r_eval.tasks.llm_client import prompt_file

INSTEAD = {}
STEPS = ("event related question questions answer closed continue correct summary supported").split()
HEADS = {prompt_file(f"crud-{s}-{l}.md")[: 8 if l == "zh" else 30]: s for s in STEPS for l in ("en", "zh")}
NAMES = ("Larkmouth Bridge", "record kite", "Sallow Beach", "鹭口大桥", "风筝")
SUBJECTS = {"Sallow Beach": "record kite"}
FIGURE = re.compile(r"\\d+(?:[.,]\\d+)*")

def subject(text):
    name = next((name for name in NAMES if name in text), "Tallow Plain")
    return SUBJECTS.get(name, name)

def reports(text):
    found = re.split(r"(?:Report|报道)\\d*\\s*\\d*[:：] ?", text)[1:]
    return {title.strip(): body for title, _, body in (one.partition("\\n") for one in found)}

def figure(body):
    return FIGURE.search(body)[0]

def write(request):
    text = request.messages[0].content
    step = next((s for head, s in HEADS.items() if text.startswith(head)), None)
    if step is None:
        return "A bridge."
    if step in INSTEAD:
        return INSTEAD[step]
    found = reports(text)
    if step == "event":
        return json.dumps({"event": subject(text), "keywords": [subject(text)]})
    if step == "related":
        one, other = found.values()
        return "**Yes**" if subject(one) == subject(other) else "No."
    if step in ("question", "questions"):
        asked = " ".join(f"<{title}>" for title in found)
        answer = ", ".join(map(figure, found.values()))
        question = f"Which figures come first in {asked}?"
        return json.dumps({"thoughts": "figures", "question": question, "answer": answer})
    if step == "answer":
        wanted = re.findall("<(.*?)>", text.partition("\\n\\n")[2])
        return ", ".join(figure(found[t]) for t in wanted) if set(wanted) <= set(found) else "unanswerable"
    if step == "continue":
        return "It cost 999 marks."
    if step == "correct":
        right = figure(next(iter(found.values())))
        return json.dumps({"errors": [{"wrong": "999", "right": right}], "corrected": f"It cost {right} marks."})
    if step == "summary":
        return " ".join(re.split(r"(?<=[.。])\\s|。", body)[0] for body in found.values())
    return "all" if step == "supported" else "no idea"
"""


def made(folder: Path, language: str = "en", instead: dict[str, str] | None = None, *words: str) -> str:
    """What the command prints over a folder of embedded reports."""
    texts = folder / "texts"
    texts.mkdir()
    for document in read_documents(f"crud-{language}"):
        if document.id.partition("-")[2] in BRIDGE + KITE + ALONE:
            (texts / f"{document.title}.txt").write_text(document.text, encoding="utf-8")
    script = SCRIPT.replace("INSTEAD = {}", f"INSTEAD = {instead or {}!r}")
    (folder / "writer.py").write_text(script, encoding="utf-8")
    command = ("data", "crud", "texts", "--llm", "scripted/writer.py:write", "--out", "own", *words)
    done = typed_here(command, folder)
    assert done.returncode in (0, 2), done.stderr
    return done.stdout


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_set_of_ones_own_is_made_and_a_grid_over_it_runs(language: str, tmp_path: Path) -> None:
    said = made(tmp_path, language, None, "--count", "3")
    assert said.startswith(
        "7 reports: 3 continuing_writing, 3 questanswer_1doc, 3 questanswer_2docs, 2 questanswer_3docs, "
        "3 hallu_modified, 2 event_summary\ndropped: 1 reports: no other report of the same event\n"
    )
    data = load(tmp_path / "own/crud.json", "crud-rag")
    assert (data.n_questions, data.n_broken, data.remarks) == (16, 0, {})
    ids = {json.loads(line)["id"] for line in (tmp_path / "own/documents.jsonl").read_text("utf-8").splitlines()}
    assert all(set(q.meta["text_ids"]) <= ids for q in data.questions)
    continued = (tmp_path / "own/documents-continuation.jsonl").read_text("utf-8")
    golds = [q.answers[0] for q in data.questions if q.meta["task"] == "continuing_writing"]
    assert not [gold for gold in golds if json.dumps(gold, ensure_ascii=False)[1:-1] in continued]
    run = typed_here(("run", "own/grid.yaml", "--out", "run", "--json"), tmp_path)
    assert run.returncode == 0, run.stderr


def asked(question: str, answer: str) -> str:
    return json.dumps({"question": question, "answer": answer})


def corrected(*errors: dict[str, str]) -> str:
    return json.dumps({"errors": errors, "corrected": "It cost 1."})


ANN = asked("Who?", "Ann")


@pytest.mark.parametrize(
    ("instead", "reason"),
    [
        ({"question": "Hm."}, "7 questanswer_1doc: no question in the reply"),
        ({"question": asked("Is it 12?", "12")}, "7 questanswer_1doc: the question contains its answer"),
        ({"question": asked("How many?", "77777")}, "7 questanswer_1doc: a figure that the reports do not have"),
        ({"answer": "unanswerable"}, "7 questanswer_1doc: its reports do not answer it"),
        ({"question": ANN, "answer": "Ann", "closed": "Ann"}, "7 questanswer_1doc: answered without a report"),
        ({"questions": ANN, "answer": "Ann"}, "2 questanswer_3docs: not all of its reports are needed"),
        ({"question": ANN, "answer": "Ann"}, "6 questanswer_1doc: the same as an earlier one"),
        ({"supported": "Not all of it."}, "7 hallu_modified: the correction is not fully supported"),
        ({"supported": "partially"}, "2 event_summary: not fully supported"),
        ({"supported": "none"}, "6 continuing_writing: the other reports do not cover the rest"),
        ({"supported": "some"}, "7 hallu_modified: the correction is not fully supported"),
        ({"continue": '{"error": {"message": "quota"}}'}, "7 hallu_modified: no text in the reply"),
        ({"correct": "Fine."}, "7 hallu_modified: no correction in the reply"),
        ({"correct": corrected()}, "7 hallu_modified: no error found"),
        ({"correct": corrected({"wrong": "x y"})}, "7 hallu_modified: an error that is not in the continuation"),
        ({"summary": "Long. " * 4000}, "2 event_summary: longer than half of its reports"),
        ({"supported": "some"}, "2 event_summary: not fully supported"),
    ],
)
def test_what_a_filter_drops_is_counted_by_its_reason(instead: dict[str, str], reason: str, tmp_path: Path) -> None:
    assert f"dropped: {reason}\n" in made(tmp_path, "en", instead)


def test_reports_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text("", encoding="utf-8")
    assert "does not exist" in typed_here(("data", "crud", "gone", "--llm", "openai/x"), tmp_path).stderr
    rows = ["Short.", "一。二。三。四。", "A b. C d. E f. " * 900, "One. Two. Three.", "One. Two. Three."]
    lines = (json.dumps({"id": str(n), "text": text}) for n, text in enumerate(rows))
    (tmp_path / "more.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = typed_here(("data", "crud", "more.jsonl", "--llm", write_llm(tmp_path, "'?'")), tmp_path)
    assert done.returncode == 2
    assert sorted(line for line in done.stdout.splitlines() if re.match("dropped: . reports: ", line)) == [
        "dropped: 1 reports: in another language",
        "dropped: 1 reports: longer than 8,000 characters",
        "dropped: 1 reports: no event in the reply",
        "dropped: 1 reports: the same as an earlier one",
        "dropped: 1 reports: too short to split",
    ]

"""Graph files: what they may say, and how it is said that they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.errors import UserError
from r_eval.tasks.graphs.graph_file import read_graph_file

WORDS = "relations: {capital: {forward: 'What is the capital of {subject}?'}}"


def written(folder: Path, text: str) -> Path:
    path = folder / "graph.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as error:
        read_graph_file(written(folder, text))
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"graph: {{{WORDS}}}", "needs environment or triples"),
        ("environment: wiki\ngraph: {}", "needs words for relations"),
        (f"environment: wiki\ngraph: {{types: [riddle], {WORDS}}}", "not 'riddle'"),
        (f"environment: wiki\ngraph: {{program: 'answer = 1', {WORDS}}}", "no {entity}"),
        (f"triples: t.tsv\ngraph: {{program: 'f({{entity}})', {WORDS}}}", "needs an environment"),
        (f"environment: wiki\ndocuments: d.jsonl\ngraph: {{{WORDS}}}", "goes with triples"),
        (f"triples: t.tsv\ndocuments: d\ncorpus: d\ngraph: {{{WORDS}}}", "documents or corpus, one of them"),
        (f"environment: wiki\ngraph: {{{WORDS}, colour: red}}", "graph.colour"),
        ("environment: wiki\ngraph: {relations: {r: {forward: 'Who?'}}}", "must hold {subject}"),
        ("environment: wiki\ngraph: {relations: {r: {forward: '{subject.__class__}?'}}}", "must hold {subject}"),
    ],
)
def test_a_wrong_file_is_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)

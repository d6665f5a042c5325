"""Graph files and files of triples: what they may say, and how it is said that they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.errors import UserError
from r_eval.tasks.graphs.graph_file import read_graph_file
from r_eval.tasks.graphs.source import Row, read_triples, write_triples

WORDS = "relations: {capital: {forward: 'What is the capital of {subject}?'}}"


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
    (tmp_path / "graph.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_graph_file(tmp_path / "graph.yaml")
    assert said in str(error.value)


words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@given(st.lists(st.builds(Row, st.tuples(words, words, words), words), max_size=5))
def test_triples_are_read_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    path = tmp_path_factory.mktemp("triples") / "t.tsv"
    write_triples(path, rows)
    assert list(read_triples(path)) == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Norway\tcapital\tOslo\n", "t.tsv:1: no column subject, relation, object"),
        ("subject\trelation\tobject\nNorway\tcapital\n", "t.tsv:2: 2 cells, and 3 columns"),
        ("subject\trelation\tobject\nNorway\t\tOslo\n", "t.tsv:2: an empty subject"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        list(read_triples(tmp_path / "t.tsv"))

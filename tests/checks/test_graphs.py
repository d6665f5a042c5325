"""`r-eval check` on a graph file."""

from __future__ import annotations

from pathlib import Path

import yaml

from r_eval.checks import check_target as check

EXAMPLE = Path(__file__).parents[2] / "examples" / "wiki-graph.yaml"
TRIPLES = "subject\trelation\tobject\nKenya\tcapital\tNairobi\nPeru\tcapital\tLima\nPeru\tlanguage\tQuechua\n"


def written(folder: Path, **graph: object) -> str:
    (folder / "triples.tsv").write_text(TRIPLES, encoding="utf-8")
    path = folder / "graph.yaml"
    path.write_text(yaml.safe_dump({"triples": "triples.tsv", "graph": graph}), encoding="utf-8")
    return str(path)


def test_the_example_makes_questions_of_every_type() -> None:
    findings = check(str(EXAMPLE))
    assert {f.severity for f in findings} == {"note"}
    assert [f.what for f in findings if "10 questions of 10 made" in f.what] == [f.what for f in findings][:5]


def test_a_relation_that_the_graph_does_not_have_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    (finding, *_) = check(written(tmp_path, relations={"capitol": {"forward": "What is the capital of {subject}?"}}))
    assert finding.severity == "error"
    assert "capitol" in finding.what
    assert "capital" in finding.what


def test_a_type_that_gives_no_question_is_an_error(tmp_path: Path) -> None:
    words = {"capital": {"forward": "What is the capital of {subject}?"}}
    found = {
        f.what.split(":")[0]: f.severity for f in check(written(tmp_path, types=["simple", "set"], relations=words))
    }
    assert (found["type simple"], found["type set"]) == ("note", "error")

"""What is said of components against the figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from r_eval.analysis.claims import Claim, check, read_claims
from r_eval.analysis.components import Study
from r_eval.analysis.published_components import read_components
from r_eval.errors import UserError

HEAD = "source,component,task,metric,claim,value,words"
FIGURES = (
    "table,component,value,task,metric,score,source\n"
    "3,chunk_size,64,t,recall,43.98,s\n3,chunk_size,128,t,recall,46.18,s\n3,chunk_size,256,t,recall,48.66,s\n"
    "3,chunk_size,64,t,precision,68,s\n3,chunk_size,128,t,precision,69,s\n3,chunk_size,256,t,precision,67,s\n"
    "3,chunk_size,128,t,bleu,20,s\n"
    "5,retriever,dense,t,recall,40,s\n5,retriever,bm25,t,recall,41,s\n"
)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    (tmp_path / "components.csv").write_text(FIGURES, encoding="utf-8")
    return read_components(tmp_path)


@pytest.mark.parametrize(
    ("component", "metric", "claim", "value", "verdict", "figures"),
    [
        ("chunk_size", "recall", "rises", "", "confirmed", "rising: 64: 43.98; 128: 46.18; 256: 48.66"),
        ("chunk_size", "recall", "falls", "", "contradicted", "rising: 64: 43.98; 128: 46.18; 256: 48.66"),
        ("chunk_size", "precision", "falls", "", "contradicted", "mixed: 64: 68.00; 128: 69.00; 256: 67.00"),
        ("chunk_size", "precision", "best", "128", "confirmed", "64: 68.00; 128: 69.00; 256: 67.00"),
        ("chunk_size", "recall", "best", "64", "contradicted", "64: 43.98; 128: 46.18; 256: 48.66"),
        ("chunk_size", "recall", "best", "512", "cannot be checked", "the figure of 512 is not there (64: 43.98; "),
        ("chunk_size", "bleu", "falls", "", "cannot be checked", "one figure alone is there (128: 20.00)"),
        ("overlap", "recall", "falls", "", "cannot be checked", "no figure of recall on t by overlap is there"),
        ("chunk_size", "rouge", "falls", "", "cannot be checked", "no figure of rouge on t by chunk_size is there"),
        ("retriever", "recall", "rises", "", "cannot be checked", "the values of retriever are names"),
        ("retriever", "recall", "best", "bm25", "confirmed", "dense: 40.00; bm25: 41.00"),
    ],
)
def test_a_claim_is_held_against_the_figures(
    study: Study, component: str, metric: str, claim: str, value: str, verdict: str, figures: str
) -> None:
    (found,) = check([Claim("text", component, "t", metric, claim, value, "words")], study)
    assert found.verdict == verdict
    assert found.figures.startswith(figures)


def test_a_folder_without_claims_has_none(tmp_path: Path) -> None:
    assert read_claims(tmp_path) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("text,k,t,bleu,grows,,words", "claims.csv:2: claim is 'grows'; expected rises, falls or best"),
        ("text,k,t,bleu,best,,words", "claims.csv:2: 'best' names a value"),
        ("text,k,t,bleu,rises,64,words", "'rises' and 'falls' name none"),
        ("text,k,t,bleu,rises,,", "claims.csv:2: a value is missing"),
    ],
)
def test_a_bad_claim_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "claims.csv").write_text(f"{HEAD}\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_claims(tmp_path)

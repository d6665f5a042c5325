"""`r-eval score --answers`, as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

R_EVAL = Path(sys.executable).with_name("r-eval")


def typed(folder: Path, results: object, *words: str, **meta: Any) -> subprocess.CompletedProcess[str]:
    lines = [
        {"id": f"q{n}", "question": f"Where is {n}?", "answers": ["Paris"], "level": "KS", "meta": meta}
        for n in range(4)
    ]
    (folder / "private.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    command = [str(R_EVAL), "score", "private.jsonl", "--answers", "results.json", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=300, check=False)


def test_the_table_has_mean_interval_number_and_missing(tmp_path: Path) -> None:
    done = typed(tmp_path, {"q0": {"model_answer": "Paris"}, "q1": {"model_answer": "Rome"}}, "--metric", "exact_match")
    assert done.returncode == 0
    (row,) = [line for line in done.stdout.splitlines() if "exact_match" in line]
    assert row.replace("│", " ").split() == ["exact_match", "all", "25.0", "4.6", "to", "69.9", "4", "2"]
    assert "4 questions, 2 without an answer, which counts 0" in done.stdout


def test_json_gives_every_line(tmp_path: Path) -> None:
    results = {"q0": {"model_answer": "Paris", "found_ids": [1, 2]}}
    done = typed(tmp_path, results, "--k", "1", "--json", type="simple", text_ids=[2])
    found = json.loads(done.stdout)
    assert {(s["metric"], s["type"]) for s in found["scores"]} == {
        (metric, kind) for metric in ("token_f1", "hit@1", "recall@1", "ndcg@1") for kind in ("all", "simple")
    }
    assert (found["questions"], found["k"], found["missing"], found["unknown"]) == (4, 1, ["q1", "q2", "q3"], [])


def test_an_unknown_id_is_a_warning_without_control_characters(tmp_path: Path) -> None:
    done = typed(tmp_path, {"q0": {"model_answer": "\x1b[2J"}, "\x1b]0;x\x07": {}})
    assert done.returncode == 0
    assert "no question of private.jsonl has the id '\\x1b]0;x\\x07'" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_malformed_entry_ends_with_2_and_its_key(tmp_path: Path) -> None:
    done = typed(tmp_path, {"q0": {"model_answer": ["Paris"]}})
    assert done.returncode == 2
    assert done.stderr == "r-eval: results.json: 'q0'.model_answer: expected a text\n"


def test_an_unknown_metric_ends_with_2(tmp_path: Path) -> None:
    done = typed(tmp_path, {}, "--metric", "exactmatch")
    assert done.returncode == 2
    assert "Did you mean exact_match?" in done.stderr


def test_texts_that_were_found_need_the_right_ones(tmp_path: Path) -> None:
    done = typed(tmp_path, {"q0": {"found_ids": [1]}})
    assert "found_ids are not scored: no question of private.jsonl has text_ids" in done.stdout


def test_response_types_need_episodes(tmp_path: Path) -> None:
    done = typed(tmp_path, {}, "--taxonomy", "published")
    assert done.returncode == 2
    assert "results from outside have none" in done.stderr


def test_a_question_file_without_answers_is_no_run(tmp_path: Path) -> None:
    typed(tmp_path, {})
    command = [str(R_EVAL), "score", "private.jsonl"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 2
    assert "name --answers RESULTS.json" in done.stderr

"""Whatever an environment does becomes the outcome of its own episode; the good task beside it never notices."""

from __future__ import annotations

import collections
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chaos.faulty_environments import FAILS, FAULTS
from tests.commands import R_EVAL

ROOT = Path(__file__).parents[2]
LLM = """
def reply(request):
    text = str(request.messages[-1]["content"])
    system = str(request.messages[0]["content"])
    if "Python" in system and "Action" not in system:
        return "```python\\nplace = find(name='Ada')\\nanswer = 'Nairobi'\\n```"
    return "Action 1: find(name='Ada')" if "Observation" not in text else "Action 2: Finish[Nairobi]"
"""
QUESTION = {"id": "q", "question": "Where does Ada live?", "answers": ["Nairobi"], "level": "KS"}


def run(folder: Path, faults: list[str], workflow: str, timeout: float = 2.0) -> int:
    """Run a grid of faulty tasks and a good one in a process of its own: its exit status."""
    (folder / "llm.py").write_text(LLM, encoding="utf-8")
    (folder / "q.jsonl").write_text(json.dumps(QUESTION) + "\n", encoding="utf-8")
    (folder / "good.jsonl").write_text(
        "".join(json.dumps({**QUESTION, "id": f"g{k}"}) + "\n" for k in range(20)), encoding="utf-8"
    )
    where = f"{ROOT / 'tests/chaos/faulty_environments.py'}:Named"
    tasks = [{"task": "good", "questions": "good.jsonl", "environment": {"environment": where, "fault": "good"}}]
    for number, fault in enumerate(faults):
        patience = timeout if FAULTS[fault][1] == FAILS else 60.0  # 100 MB may take some seconds on a busy machine
        settings = {"environment": where, "fault": fault, "timeout": patience}
        tasks.append({"task": f"t{number}", "questions": "q.jsonl", "environment": settings})
    grid = {
        "name": "faults", "workflows": [workflow], "shots": 0, "tasks": tasks,
        "llms": [{"llm": "scripted/llm.py:reply", "name": "s", "connections": 8}], "limits": {"seconds": 60},
    }  # fmt: skip
    (folder / "grid.yaml").write_text(yaml.safe_dump(grid, allow_unicode=True), encoding="utf-8")
    command = [str(R_EVAL), "run", "grid.yaml", "--out", "out", "--quiet"]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=300).returncode


def records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    found = collections.defaultdict(list)
    for path in (folder / "out" / "episodes").rglob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            found[json.loads(line)["task"]].append(json.loads(line))
    return found


@pytest.mark.parametrize("workflow", ["react", "pal"])
def test_all_faults_in_one_run(tmp_path: Path, workflow: str) -> None:
    names = list(FAULTS)
    status = run(tmp_path, names, workflow)
    found = records(tmp_path)
    assert [(e["outcome"]["kind"], e["answer"]) for e in found["good"]] == [("finished", "Nairobi")] * 20
    outcomes = {name: [e["outcome"]["kind"] for e in found[f"t{k}"]] for k, name in enumerate(names)}
    wanted = {name: expected for name, (_, expected) in FAULTS.items()}
    if workflow == "pal":  # a program has 64 MB
        wanted |= dict.fromkeys(("100 MB of text", "a million rows"), "tool_misuse")
        assert all(path.stat().st_size < 1_000_000 for path in (tmp_path / "out" / "episodes").rglob("*.jsonl"))
    assert outcomes == {name: [expected] for name, expected in wanted.items()}
    assert status == 1
    assert (tmp_path / "out" / "report" / "index.html").exists()  # one fault changes the folder
    if workflow == "react":
        for name in ("raises SystemExit", "recurses", "raises _Speechless async"):  # the line of the user's code
            outcome = found[f"t{names.index(name)}"][0]["outcome"]
            assert "faulty_environments.py:" in outcome["detail"]
            assert "faulty_environments.py" in outcome["traceback"]


@pytest.mark.parametrize("fault", ["hangs", "leaves a thread", "blocks its loop", "swallows cancellation"])
def test_the_process_ends(tmp_path: Path, fault: str) -> None:
    assert run(tmp_path, [fault], "react", 1.0) == (1 if FAULTS[fault][1] == FAILS else 0)

"""The grid: YAML and Python say the same, and every mistake gets one sentence before anything is written."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from r_eval import Grid, UserError, run
from r_eval.grid import TaskEntry, WorkflowEntry
from r_eval.runner.plan import Plan, resolve

INTERFACE = """
name: my-grid
seed: 3
llms:
  - gguf/smollm2-135m
  - llm: openai/gpt-4o-mini
    base_url: http://127.0.0.1:8000/v1     # absent: OpenAI itself
    api_key_env: OPENAI_API_KEY            # the variable's name; a key itself is refused
    temperature: 0
    max_tokens: 512
    connections: 16
    price: {prompt: 0.15, completion: 0.60}
workflows:
  - react
  - {workflow: dfsdt, beam: 2, max_nodes: 12, max_calls: 200}
tasks:
  - aminer/*
  - {task: own, questions: ./questions.jsonl, environment: aminer}
conditions: [clean]
samples: 20
epochs: 1
shots: 1
limits: {steps: 10, tokens: 16000, seconds: 300}
exclude:
  - {workflow: dfsdt, llm: gguf/*}
"""
PYTHON: dict[str, Any] = yaml.safe_load(INTERFACE)
QUESTION = {"id": "a", "question": "Who?", "answers": ["Ada"], "level": "KS"}
OWN = {"task": "own", "questions": "questions.jsonl", "environment": "aminer"}
VALID: dict[str, Any] = {
    "llms": ["scripted/./one.py:reply"],
    "workflows": ["direct"],
    "tasks": ["aminer/soay-easy"],
    "samples": 1,
}
AXES = yaml.safe_dump({key: VALID[key] for key in ("llms", "workflows", "tasks")})


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a scripted LLM, a workflow of its own and a question file in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").write_text("def reply(request):\n    return 'Ada'\n\nvalue = 3\n", encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text(json.dumps(QUESTION) + "\n", encoding="utf-8")
    return tmp_path


def written(desk: Path, text: str | dict[str, Any]) -> Path:
    path = desk / "grid.yaml"
    path.write_text(text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False), encoding="utf-8")
    return path


def fingerprints(plan: Plan) -> dict[Any, str]:
    return {cell.cell: cell.fingerprint for cell in plan.cells}


# The same in YAML and in Python


def test_yaml_and_python_describe_the_same_run(desk: Path) -> None:
    loaded, made = Grid.load(written(desk, INTERFACE)), Grid(**PYTHON, folder=desk)
    assert loaded.model_dump() == made.model_dump()
    assert fingerprints(resolve(loaded)) == fingerprints(resolve(made))
    assert len(resolve(made).cells) == 3 * 4


@pytest.mark.parametrize(
    "parts",
    [
        {"workflows": (one for one in ["react"])},
        {"workflows": {"react"}},
        {"workflows": {"react": 1}.keys()},
        {"workflows": np.array(["react"])},
        {"workflows": pd.Series(["react"])},
        {"workflows": WorkflowEntry(workflow="react")},
        {"tasks": TaskEntry(task="wiki/high-freq")},
        {"tasks": ({"task": "own", "questions": Path("questions.jsonl"), "environment": Path("a.py")},)},
        {"tasks": [{"task": "own", "data": Path("q.json"), "environment": {"environment": "a", "db": Path("~/b")}}]},
    ],
    ids=["generator", "set", "keys", "array", "series", "entry", "task entry", "paths", "paths in data"],
)
def test_a_grid_in_python_takes_what_python_has(parts: dict[str, Any]) -> None:
    made = Grid(**{"llms": ["openai/m"], "workflows": ["react"], "tasks": ["wiki/high-freq"], **parts})
    assert made.workflows == [WorkflowEntry(workflow="react")]
    texts = json.dumps(made.model_dump(mode="python", exclude={"folder"}))
    assert Grid(**json.loads(texts)) == made
    assert "~" not in texts


def test_what_is_assigned_to_a_grid_is_checked_as_well() -> None:
    grid = Grid(llms=["openai/m"], workflows=["react"], tasks=["wiki/high-freq"])
    grid.workflows = "pal"  # type: ignore[assignment]  # as a person types it
    assert grid.workflows == [WorkflowEntry(workflow="pal")]
    for key, value in {"samples": "two", "limits": {"step": 3}, "tasks": []}.items():
        with pytest.raises(UserError, match=key):
            setattr(grid, key, value)


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"workflows": [Grid]}, "workflows.0: must be a name or a mapping, .* name, 'r_eval.grid:Grid'"),
        ({"llms": [resolve]}, "llms.0: must be a name or a mapping, .* name, 'scripted/r_eval.runner.plan:resolve'"),
        ({"conditions": [Grid]}, "conditions.0: must be a name or a mapping, .* name, 'r_eval.grid:Grid'"),
        ({"tasks": [{"task": "own", "environment": Grid}]}, "environment: must be a name or a .*, 'r_eval.grid:Grid'"),
        ({"tasks": [{"task": "own", "environment": 3}]}, "environment: must be a name or a mapping, not 3$"),
    ],
    ids=["workflow", "llm", "condition", "environment", "number"],
)
def test_an_object_in_place_of_a_name_gets_its_name(parts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        Grid(**{"llms": ["openai/m"], "workflows": ["react"], "tasks": ["wiki/high-freq"], **parts})


def test_a_loaded_grid_starts_its_paths_at_its_own_folder(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(desk, {**VALID, "tasks": [OWN]})
    monkeypatch.chdir("/")
    assert [q.id for q in resolve(Grid.load(path)).tasks[0].questions] == ["a"]


@pytest.mark.parametrize("number", ["1e-3", "1E-3", "+1.e-3", "0.001"])
def test_a_number_may_have_an_exponent(desk: Path, number: str) -> None:
    entry = Grid.load(written(desk, yaml.safe_dump(VALID) + f"stop_early: {{alpha: {number}}}\n")).stop_early
    assert entry is not None
    assert entry.alpha == 0.001


def test_excluded_cells_are_left_out(desk: Path, caplog: pytest.LogCaptureFixture) -> None:
    exclude = [{"task": "aminer/*"}, {"workflow": "react", "llm": "openai/*"}, {"llm": "gguf"}]
    grid = Grid(**{**PYTHON, "exclude": exclude}, folder=desk)
    cells = [(c.cell.workflow, c.cell.llm, c.cell.task) for c in resolve(grid).cells]
    assert cells == [
        ("react", "gguf/smollm2-135m", "own"),
        ("dfsdt", "gguf/smollm2-135m", "own"),
        ("dfsdt", "openai/gpt-4o-mini", "own"),
    ]
    assert caplog.messages == ["exclude.2 leaves nothing out: no cell of the grid matches it"]


@pytest.mark.parametrize(("one", "two"), [("a/b", "a__b"), ("a:b", "a_b"), ("Ada", "ada"), ("가", "\u1100\u1161")])
def test_two_names_that_a_file_system_may_not_tell_apart_are_refused(one: str, two: str) -> None:
    llms = [{"llm": "openai/m", "name": name} for name in (one, two)]
    with pytest.raises(UserError, match=f"'react\\+{one}' and 'react\\+{two}' would be kept in the same file"):
        resolve(Grid(llms=llms, workflows=["react"], tasks=["aminer/soay-easy"]))


def test_connections_and_price_do_not_change_what_a_cell_is(desk: Path) -> None:
    plain = resolve(Grid(**{**VALID, "llms": [{"llm": "openai/m"}]}))
    price = {"prompt": 1, "completion": 2}
    other = resolve(Grid(**{**VALID, "llms": [{"llm": "openai/m", "connections": 3, "price": price}]}))
    assert fingerprints(plain) == fingerprints(other)


MISTAKES: dict[str, tuple[dict[str, Any] | str, str]] = {
    "an empty file": ("", r"grid\.yaml: a grid is a mapping with the keys llms, workflows and tasks"),
    "a number for a key": ("1: x\nllms: [openai/m]\n", r"grid\.yaml:1: unknown key '1'"),
    "a deep nest": ("a: " + "[" * 1000, r"grid\.yaml"),
    "tasks that are none": ({"tasks": []}, r"grid\.yaml:\d+: tasks: .*at least 1"),
    "a name that is no file's": ({"name": "../up"}, r"grid\.yaml:\d+: name: "),
    "a price without its parts": (
        {"llms": [{"llm": "openai/m", "price": {"input": 1}}]},
        r"LLM 'openai/m': price: unknown setting 'input'\. Did you mean prompt\? Known: cached, completion, prompt",
    ),
    "settings of an LLM in a mapping of their own": (
        {"llms": [{"llm": "openai/m", "options": {"temperature": 0}}]},
        r"LLM 'openai/m': options: settings of an LLM go next to its name",
    ),
    "an LLM under a key that is not llm": (
        {"llms": [{"model": "openai/m"}]},
        r"grid\.yaml:\d+: the key llms\.0\.llm is missing; write \{llm: ",
    ),
    "a workflow as a key": (
        {"workflows": [{"dfsdt": {"beam": 2}}]},
        r"workflows\.0\.workflow is missing; write \{workflow: NAME, SETTING: VALUE\}",
    ),
    **{
        f"{line} is no number": (f"{line}\n{AXES}", rf"grid\.yaml:1: .*: must be .*, not '{said}'")
        for line, said in (
            ("samples: 012", "012"),
            ("samples: 0_1", "0_1"),
            ("seed: 1:30", "1:30"),
            ("limits: {seconds: 1:30.5}", "1:30.5"),
            ("budget: {hours: 1:30}", "1:30"),
            ("epochs: 2024-02-01", "2024-02-01"),
        )
    },
    **{
        f"{line!r} of another keyboard": (
            f"seed: 0\n{line}\n{AXES}",
            rf"grid\.yaml:\d+: not valid YAML: .*; write '{plain}' for {re.escape(repr(character))}",
        )
        for line, character, plain in (
            ("samples\uff1a2", "\uff1a", ":"),
            ("shots\uff1a 2", "\uff1a", ":"),
            ("samples:\u30002", "\u3000", " "),
            ("samples:\u00a02", "\u00a0", " "),
            ("exclude:\n\u00a0\u00a0- llm: x\n\u00a0\u00a0- llm: y", "\u00a0", " "),
        )
    },
    **{
        f"{other} for {setting}": (
            {"llms": [{"llm": llm, other: 1}]},
            rf"LLM '{llm}': unknown setting '{other}'\. Did you mean {setting}\?",
        )
        for llm, other, setting in (
            ("openai/m", "n_predict", "max_tokens"),
            ("openai/m", "temp", "temperature"),
            ("openai/m", "concurrency", "connections"),
            ("openai/m", "api_base", "base_url"),
            ("responses/m", "effort", "reasoning"),
            ("gguf/smollm2-135m", "num_ctx", "context"),
        )
    },
    "an LLM without backend": (
        {"llms": ["gpt-4o"]},
        r"LLM 'gpt-4o': expected <backend>/<model>; the backends: .*openai",
    ),
    "a glob that selects nothing": ({"tasks": ["chess/*"]}, r"unknown task 'chess/\*'\. .*Known: .*aminer/soay-easy"),
    "a question file without environment": (
        {"tasks": [{"task": "own", "questions": "questions.jsonl"}]},
        r"task 'own': a question file needs the environment: that it is asked over",
    ),
    "demonstrations without question file": (
        {"tasks": [{"task": "aminer/soay-easy", "demonstrations": "questions.jsonl"}]},
        r"task 'aminer/soay-easy': demonstrations: .*questions:",
    ),
    "too many shots": (
        {"shots": 1000},
        r"task 'aminer/soay-easy': shots: 1000 wanted, but the task has \d+ demonstrations",
    ),
    **{
        f"no question left beside {others}": (
            {"tasks": [*others, {**OWN, "demonstrations": "questions.jsonl"}]},
            r"task 'own': every question is shown as a demonstration",
        )
        for others in ([], ["aminer/soay-easy"])
    },
    "a workflow that is none": ({"workflows": ["./one.py:reply"]}, r"one\.py:reply is not a subclass of"),
    "a key in the wrong place": (
        {"llms": [{"llm": "openai/m", "api_key_env": "sk-abcdefghijklmnop"}]},
        r"grid\.yaml:\d+: llms\.0: a key does not belong in a grid",
    ),
    "an LLM twice": ({"llms": ["openai/m", "openai/m"]}, "duplicate LLM 'openai/m'.*name: of its own"),
    "a task twice": ({"tasks": ["aminer/*", "aminer/soay-easy"]}, "duplicate task 'aminer/soay-easy'"),
    "a condition twice": (
        {"conditions": ["faulty", {"condition": "faulty", "rate": 0.2}]},
        "duplicate condition 'faulty'; give one of them a name:",
    ),
    "a condition called clean": (
        {"conditions": [{"condition": "faulty", "name": "clean"}]},
        "clean is the name of the bare environment",
    ),
    "clean under another name": (
        {"conditions": [{"condition": "clean", "name": "dirty"}]},
        "clean is the name of the bare environment",
    ),
    "half a condition": ({"conditions": ["faulty+"]}, "unknown condition ''"),
    "data of several tasks": (
        {"tasks": [{"task": "aminer/soay-*", "data": "questions.jsonl"}]},
        "data: needs a single task, but aminer/soay-. matches 2",
    ),
    "data without environment": (
        {"tasks": [{"task": "mine", "format": "hotpotqa", "data": "questions.jsonl"}]},
        "a data file needs the environment:",
    ),
    "a split of a file": (
        {"tasks": [{"task": "wiki/hotpotqa", "data": "questions.jsonl", "split": "train"}]},
        "split: needs data: hf:",
    ),
    "a level of noise that is none": (
        {"tasks": [{"task": "prgb/filtering", "noise": {"week": 2}}]},
        "must be 'weak', 'moderate' or 'hard', not 'week'",
    ),
    "noise of a task that has none": (
        {"tasks": [{"task": "wiki/high-freq", "noise": {"weak": 2}}]},
        "needs data: FILE, or an embedded task of PRGB",
    ),
    "noise that varies where no task has any": ({"vary": {"noise.weak": [2, 1]}}, "no task of the grid has noise"),
    "a setting of an LLM": ({"temperature": 0}, r"'temperature': temperature belongs in an entry of llms"),
    "a limit": ({"steps": 5}, r"'steps': steps belongs in limits"),
    "a limit or a budget": ({"tokens": 5}, r"'tokens': tokens belongs in limits or in budget"),
    "a budget among the limits": ({"limits": {"usd": 1}}, r"'limits.usd': usd belongs in budget"),
    "the samples of one task": (
        {"tasks": [{"task": "aminer/soay-easy", "samples": 2}]},
        r"'tasks\.0\.samples': samples belongs at the top level",
    ),
    "the name of no LLM": ({"llms": [{"llm": "openai/m", "name": "none"}]}, r"the LLM 'openai/m' .*'none'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence_and_nothing_is_written(desk: Path, mistake: str) -> None:
    change, complaint = MISTAKES[mistake]
    path = written(desk, change if isinstance(change, str) else {**VALID, **change})
    before = {*desk.iterdir()}
    with pytest.raises(UserError, match=complaint) as raised:
        run(Grid.load(path))
    assert not re.search(r"\n|sk-abcdefghijklmnop", str(raised.value))
    assert {*desk.iterdir()} - {desk / "__pycache__"} == before


def test_a_grid_in_python_gets_the_same_sentences() -> None:
    parts = {"llms": ["openai/m"], "tasks": ["wiki/*"]}
    with pytest.raises(UserError, match=r"Grid: unknown key 'workflow'\. Did you mean workflows\?"):
        Grid(workflow=["react"], **parts)
    with pytest.raises(UserError, match="Grid: samples: must be a whole number, not 'two'"):
        Grid(workflows=["react"], samples="two", **parts)
    assert Grid(workflows=("react", "pal"), **parts).workflows == Grid(workflows=["react", "pal"], **parts).workflows


def test_a_grid_of_oracles_names_no_llms(tmp_path: Path) -> None:
    done = run(Grid(workflows=["oracle"], tasks=["wiki/high-freq"], samples=2), tmp_path / "run")
    assert [(e.workflow, e.llm, e.outcome.kind) for e in done.episodes()] == [("oracle", "none", "finished")] * 2
    for workflows, llms in itertools.product((["oracle", "react"], ["direct"]), ({}, {"llms": []})):
        with pytest.raises(UserError, match="the key llms is missing"):
            Grid(workflows=workflows, tasks=["wiki/high-freq"], **llms)

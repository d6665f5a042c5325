"""What people type wrongly: every mistake ends with status 2 and one message that names the place; nothing is written.

`python -m tests.cli.test_mistakes` prints each command with its message.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from r_eval import Grid, run
from tests.commands import typed_here

LLM = "def ada(request):\n    return 'Action 1: Finish[Ada]'\n"
BAD = "from r_eval.environments import Environment, query_api\n1 / 0\n"
GRID = "llms: [scripted/./llm.py:ada]\nworkflows: [react]\ntasks: [aminer/soay-easy]\nsamples: 2\n"
TEMPLATES = """environment: aminer
templates:
  - id: home
    level: KS
    from: person
    question: Where is {{ person.name }}?
    program: answer = getPersonBasicInfo(person_id=person["id"])["organization"]
"""


def grid(old: str, new: str) -> str:
    assert old in GRID
    return GRID.replace(old, new)


def own(questions: str) -> str:
    return grid("[aminer/soay-easy]", f"[{{task: mine, questions: {questions}, environment: aminer}}]")


FILES = {
    "llm.py": LLM,
    "bad.py": BAD,
    "grid.yaml": GRID,
    "workflow.yaml": grid("react", "raect"),
    "key.yaml": grid("samples", "sample"),
    "type.yaml": grid("samples: 2", "samples: two"),
    "syntax.yaml": "llms: [a\nworkflows: [react]\n",
    "twice.yaml": GRID + "samples: 3\n",
    "missing.yaml": grid("workflows: [react]\n", ""),
    "list.yaml": "- react\n",
    "apikey.yaml": grid("scripted/./llm.py:ada", "{llm: openai/x, api_key: sk-abcdefghijkl}"),
    "url.yaml": grid("scripted/./llm.py:ada", "{llm: openai/x, base_url: '127.0.0.1:9/v1'}"),
    "dead.yaml": grid("scripted/./llm.py:ada", "{llm: openai/x, base_url: 'http://127.0.0.1:9/v1', api_key_env: ''}"),
    "nokey.yaml": grid("scripted/./llm.py:ada", "{llm: openai/x, api_key_env: R_EVAL_NO_KEY}"),
    "backend.yaml": grid("scripted/./llm.py:ada", "opnai/x"),
    "function.yaml": grid("llm.py:ada", "llm.py:eve"),
    "setting.yaml": grid("[react]", "[{workflow: dfsdt, bean: 2}]"),
    "condition.yaml": GRID + "conditions: [falty]\n",
    "limits.yaml": GRID + "limits: {step: 3}\n",
    "exclude.yaml": GRID + "exclude: [{workflow: react}]\n",
    "task.yaml": grid("aminer/soay-easy", "aminer/saoy"),
    "metric.yaml": grid("[aminer/soay-easy]", "[{task: aminer/soay-easy, metric: f2}]"),
    "data.yaml": grid("[aminer/soay-easy]", "[{task: wiki/hotpotqa, data: nowhere.json}]"),
    "budget.yaml": grid("scripted/./llm.py:ada", "openai/unpriced-model") + "budget: {usd: 1}\n",
    "environment.yaml": own("good.jsonl").replace("aminer}", "amine}"),
    "questions.yaml": own("nowhere.jsonl"),
    "field.yaml": own("field.jsonl"),
    "empty.yaml": own("empty.jsonl"),
    "good.jsonl": '{"id": "a", "question": "Who?", "answers": ["Ada"], "level": "KS"}\n',
    "field.jsonl": '\n{"id": "a", "question": "Who?", "answer": ["Ada"], "level": "KS"}\n',
    "empty.jsonl": '{"id": "a", "question": "谁？", "answers": [""], "level": "KS"}\n',
    "templates.yaml": TEMPLATES,
    "wording.yaml": TEMPLATES.replace("}}", "}"),
    "kind.yaml": TEMPLATES.replace("from: person", "from: persn"),
}
"""Files that commands name; the first line of most is right."""
FLAGS = "run --workflow react --llm scripted/./llm.py:ada --task aminer/soay-easy"
MISTAKES: dict[str, tuple[str, ...]] = {
    # typing
    "rnu": ("'rnu'", "run"),
    "data spilt": ("'spilt'", "split"),
    "run grid.yaml --limt 3": ("--limt", "--limit"),
    "run grid.yaml --limit many": ("--limit",),
    "run grid.yaml --limit 0": ("--limit",),
    "run": ("--workflow, --llm and --task",),
    "run --workflow react --task wiki/high-freq": ("--llm",),
    "run grid.yaml --samples 3": ("--samples", "grid.yaml", "samples:"),
    "run grid.yaml --engine warp": ("'warp'", "local", "ray"),
    f"{FLAGS} --workflow raect": ("'raect'", "react"),
    f"{FLAGS} --task aminer/soy-easy": ("aminer/soy-easy", "aminer/soay-easy"),
    # grids
    "run nowhere.yaml": ("nowhere.yaml",),
    "run .": ("folder", "grid.yaml"),
    "run list.yaml": ("list.yaml", "mapping"),
    "run syntax.yaml": ("syntax.yaml:2",),
    "run twice.yaml": ("twice.yaml:5", "samples"),
    "run missing.yaml": ("missing.yaml", "workflows"),
    "run key.yaml": ("key.yaml:4", "'sample'", "samples"),
    "run type.yaml": ("type.yaml:4", "samples", "'two'"),
    "run limits.yaml": ("limits.yaml:5", "step", "steps"),
    "run workflow.yaml": ("workflow.yaml:2", "'raect'", "react"),
    "run setting.yaml": ("setting.yaml:2", "dfsdt", "bean", "beam"),
    "run condition.yaml": ("condition.yaml:5", "'falty'", "faulty"),
    "run exclude.yaml": ("exclude",),
    "run task.yaml": (
        "task.yaml:3",
        "aminer/saoy",
    ),
    "run metric.yaml": (
        "metric.yaml:3",
        "'f2'",
    ),
    "run data.yaml": ("data.yaml:3", "wiki/hotpotqa", "nowhere.json"),
    # LLMs
    "run backend.yaml": ("backend.yaml:1", "'opnai'", "openai"),
    "run function.yaml": ("llm.py", "eve", "ada"),
    "run apikey.yaml": ("apikey.yaml:1", "api_key_env"),
    "run --quiet nokey.yaml": ("openai/x", "R_EVAL_NO_KEY"),
    "run url.yaml": ("url.yaml:1", "base_url", "http"),
    "run --quiet dead.yaml": ("openai/x", "http://127.0.0.1:9/v1"),
    "run budget.yaml": ("openai/unpriced-model", "price"),
    # questions, environments, templates
    "run questions.yaml": ("nowhere.jsonl",),
    "run field.yaml": ("field.jsonl:2", "answer"),
    "run empty.yaml": ("empty.jsonl:1", "answers"),
    "run environment.yaml": ("environment.yaml:3", "'amine'", "aminer"),
    "call bad.py": ("bad.py", "ZeroDivisionError", "bad.py:2"),
    "call nowhere.py": ("nowhere.py",),
    "call aminer searchPersn name=Ada": ("'searchPersn'", "searchPerson"),
    "call aminer name=Ada": ("name=Ada", "searchPerson"),
    "call aminer --set soruce=live": ("soruce", "source"),
    "call aminer --set live": ("'live'", "key=value"),
    "call aminer --prompt raect": ("'raect'", "react"),
    "call aminer --prompt oracle": ("'oracle'",),
    "call wiki Search Kenya": ("'Kenya'", "key=value"),
    "call wiki Search entity=Kenya -- Lookup keyword=x --json": ("'--json'", "first --"),
    "serve aminer": ("--http", "--mcp"),
    "serve aminer --mcp --set soruce=live": ("soruce", "source"),
    "generate nowhere.yaml --count 2 --seed 0 --out q.jsonl": ("nowhere.yaml",),
    "generate wording.yaml --count 2 --seed 0 --out q.jsonl": ("wording.yaml", "home", "question"),
    "generate kind.yaml --count 2 --seed 0 --out q.jsonl": ("kind.yaml", "home", "persn"),
    "generate grid.yaml --out q.jsonl": ("grid.yaml", "templates, graph or placeholders"),
    "generate templates.yaml --out q.jsonl --private q.jsonl": ("q.jsonl", "both the public and the private"),
    "generate templates.yaml --out templates.yaml": ("templates.yaml would be written over",),
    "generate templates.yaml --out q.jsonl --private templates.yaml": ("templates.yaml would be written over",),
    "generate templates.yaml --out q.jsonl --environment wiki": ("no records of kind 'person'",),
    "generate templates.yaml --out q.jsonl --refresh gone.jsonl": ("gone.jsonl",),
    "new domain 1st": ("'1st'",),
    "new domian shop": ("'domian'", "domain"),
    # runs
    "report nowhere": ("nowhere", "run.json"),
    "report grid.yaml": ("grid.yaml", "folder"),
    "report done --max-seconds soon": ("--max-seconds",),
    "score done --metric f2": ("'f2'",),
    "score done --taxonomy loose": ("loose", "strict"),
    "score done --match-threshold 7": ("--match-threshold",),
    "score good.jsonl": ("good.jsonl", "folder"),
    "compare done ./done": ("done", "twice"),
    "compare done --systems react+ada pal+ada": ("react+ada",),
    "show done --type XY": ("'XY'", "EM"),
    "show done --prompt": ("--prompt", "EPISODE_ID"),
    "show done --system raect+*": ("'raect+*'",),
    "show done --task aminer/soay-hard": ("aminer/soay-hard", "aminer/soay-easy"),
    "show done zzzz": ("zzzz", "show"),
    "list taks": ("'taks'", "tasks"),
    "doctor nowhere.yaml": ("nowhere.yaml",),
}
CHECKED: dict[str, tuple[str, ...]] = {
    "check nowhere.jsonl": ("nowhere.jsonl",),
    "check bad.py": ("bad.py", "ZeroDivisionError"),
    "check wording.yaml": ("wording.yaml", "home"),
    "check kind.yaml": ("kind.yaml:3", "persn"),
    "check key.yaml": ("key.yaml:4", "samples"),
    "check aminer --set soruce=live": ("soruce", "source"),
    "check good.jsonl --set source=live": ("--set", "--environment"),
}
"""Mistakes that `check` finds: they are results, on standard output."""


def prepared(folder: Path) -> Path:
    """A folder with all files, and a run."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert run(Grid.load(folder / "grid.yaml"), folder / "done").state == "complete"
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("mistakes"))


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("R_EVAL_NO_KEY", raising=False)


@pytest.mark.parametrize("words", MISTAKES)
def test_a_mistake_ends_with_2_and_one_message_that_names_the_place(words: str, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    done = typed_here(words.split(), folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert [part for part in MISTAKES[words] if part not in done.stderr] == []
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("Usage:", "Try '")) and line]
    assert len(lines) == 1, "one message"
    assert "Traceback" not in done.stderr
    assert {path.name for path in folder.iterdir()} <= before | {"__pycache__"}


@pytest.mark.parametrize("words", CHECKED)
def test_check_names_the_place_and_ends_with_2(words: str, folder: Path) -> None:
    done = typed_here(words.split(), folder)
    assert (done.returncode, done.stderr) == (2, "")
    assert [part for part in CHECKED[words] if part not in done.stdout] == []
    assert done.stdout.count(": error: ") >= 1


if __name__ == "__main__":
    place = prepared(Path(tempfile.mkdtemp()))
    for mistake in (*MISTAKES, *CHECKED):
        ended = typed_here(mistake.split(), place)
        said = [line for line in (ended.stderr + ended.stdout).splitlines() if not line.startswith(("Usage", "Try"))]
        sys.stdout.write(
            f"$ r-eval {mistake}  [exit {ended.returncode}]\n" + "".join(f"{line}\n" for line in [*said, ""])
        )
    shutil.rmtree(place)

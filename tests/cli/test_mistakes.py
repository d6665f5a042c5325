"""What people type wrongly: every mistake ends with status 2 and one message that names the place; no file is made."""

from __future__ import annotations

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
    program: answer = getPersonBasicInfo(person_id=person["person_id"])["organization"]
"""


def grid(old: str, new: str) -> str:
    assert old in GRID
    return GRID.replace(old, new)


def llm(entry: str) -> str:
    return grid("scripted/./llm.py:ada", entry)


def tasks(entries: str) -> str:
    return grid("[aminer/soay-easy]", entries)


def own(questions: str) -> str:
    return tasks(f"[{{task: mine, questions: {questions}, environment: aminer}}]")


GRIDS: dict[str, tuple[str, ...]] = {
    "workflow": (grid("react", "raect"), "workflow.yaml:2", "'raect'", "react"),
    "key": (grid("samples", "sample"), "key.yaml:4", "'sample'", "samples"),
    "type": (grid("samples: 2", "samples: two"), "type.yaml:4", "samples", "'two'"),
    "syntax": ("llms: [a\nworkflows: [react]\n", "syntax.yaml:2"),
    "twice": (GRID + "samples: 3\n", "twice.yaml:5", "samples"),
    "missing": (grid("workflows: [react]\n", ""), "missing.yaml", "workflows"),
    "list": ("- react\n", "list.yaml", "mapping"),
    "apikey": (llm("{llm: openai/x, api_key: sk-abcdefghijkl}"), "apikey.yaml:1", "api_key_env"),
    "url": (llm("{llm: openai/x, base_url: '127.0.0.1:9/v1'}"), "url.yaml:1", "base_url", "http"),
    "dead": (
        llm("{llm: openai/x, base_url: 'http://127.0.0.1:9/v1', api_key_env: ''}"),
        "openai/x",
        "http://127.0.0.1:9/v1",
    ),
    "nokey": (llm("{llm: openai/x, api_key_env: R_EVAL_NO_KEY}"), "openai/x", "R_EVAL_NO_KEY"),
    "backend": (llm("opnai/x"), "backend.yaml:1", "'opnai'", "openai"),
    "function": (grid("llm.py:ada", "llm.py:eve"), "llm.py", "eve", "ada"),
    "setting": (grid("[react]", "[{workflow: dfsdt, bean: 2}]"), "setting.yaml:2", "dfsdt", "bean", "beam"),
    "condition": (GRID + "conditions: [falty]\n", "condition.yaml:5", "'falty'", "faulty"),
    "task": (grid("aminer/soay-easy", "aminer/saoy"), "task.yaml:3", "aminer/saoy"),
    "data": (tasks("[{task: wiki/hotpotqa, data: nowhere.json}]"), "data.yaml:3", "wiki/hotpotqa", "nowhere.json"),
    "budget": (
        llm("openai/unpriced-model") + "budget: {usd: 1}\n",
        "budget of 1 USD: the price of 'openai/unpriced-model' is not known. Give it",
    ),
    "environment": (own("good.jsonl").replace("aminer}", "amine}"), "environment.yaml:3", "'amine'", "aminer"),
    "questions": (own("nowhere.jsonl"), "questions.yaml:3", "nowhere.jsonl"),
    "folder": (own("done"), "folder.yaml:3", "done: is a folder"),
    "latin": ("name: café\n" + GRID, "latin.yaml:1", "UTF-8"),
    "two": (GRID + "---\n" + GRID, "two.yaml:5", "expected a single document"),
    "home": (own("~/gone.jsonl"), "home.yaml:3", str(Path.home() / "gone.jsonl")),
    "tab": ("llms:\n\t- a\n", "tab.yaml:2"),
    "norway": (tasks("[no]"), "norway.yaml:3", "a name or a mapping", "False"),
    "rate": (
        GRID + "conditions: [{condition: faulty, rate: 20%}]\n",
        "rate.yaml:5",
        "rate: must be a number, not '20%'",
    ),
    "stop": (GRID + "stop_early: 'yes'\n", "stop.yaml:", "stop_early: must be true, false or a mapping, not 'yes'"),
    "variable": (
        llm("{llm: openai/x, api_key_env: $OPENAI_API_KEY}"),
        "variable.yaml:1",
        "LLM 'openai/x': api_key_env",
        "without $",
    ),
    "conditions": (GRID + "conditions: []\n", "conditions.yaml:5: conditions: must be a list of at least 1"),
    "where": (GRID + "folder: /tmp\n", "where.yaml:5: unknown key 'folder'"),
    "exclude": (GRID + "exclude: [react]\n", "exclude.yaml:5: exclude.0: must be a mapping"),
    "field": (own("field.jsonl"), "field.jsonl:2", "answer"),
    "empty": (own("empty.jsonl"), "empty.jsonl:1", "answers"),
}
"""Grid files with a mistake, by their names, and what is said when each is run."""
FILES = {
    "llm.py": LLM,
    "KEY.YAML": grid("samples", "sample"),
    "bad.py": BAD,
    "grid.yaml": GRID,
    "good.jsonl": '{"id": "a", "question": "Who?", "answers": ["Ada"], "level": "KS"}\n',
    "field.jsonl": '\n{"id": "a", "question": "Who?", "answer": ["Ada"], "level": "KS"}\n',
    "empty.jsonl": '{"id": "a", "question": "谁？", "answers": [""], "level": "KS"}\n',
    "templates.yaml": TEMPLATES,
    "wording.yaml": TEMPLATES.replace("}}", "}"),
    "kind.yaml": TEMPLATES.replace("from: person", "from: persn"),
    "api.yaml": TEMPLATES.replace("getPersonBasicInfo", "getPerson"),
    "case.jsonl": '{"ID": "a", "question": "Who?", "answers": ["Ada"]}\n',
    "blank.jsonl": '{"id": "a", "question": " ", "answers": ["Ada"]}\n',
    "paper/scores.csv": "workflow,llm,task,score\nreact,m,1-1,40\n",
}
"""Files that commands name; the first line of most is right. Those called latin are not UTF-8."""
FLAGS = "run --workflow react --llm scripted/./llm.py:ada --task aminer/soay-easy"
MISTAKES: dict[str, tuple[str, ...]] = {
    # typing
    "rnu": ("'rnu'", "run"),
    "data spilt": ("'spilt'", "split"),
    "run grid.yaml --limt 3": ("--limt", "--limit"),
    "run grid.yaml --limit many": ("--limit", "must be a whole number, not 'many'"),
    "run grid.yaml --limit 0": ("--limit", "must be at least 1, not '0'"),
    "report done --max-seconds 5s": ("--max-seconds", "must be a number, not '5s'"),
    "score done --match-threshold 2": ("--match-threshold", "must be at most 1.0, not '2'"),
    "compare done --cluster page": ("--cluster", "'page' is not one of 'document', 'template'"),
    "run": ("--workflow, --llm and --task",),
    "run grid.yaml --samples 3": ("--samples", "grid.yaml", "samples:"),
    "run grid.yaml --engine warp": ("'warp'", "local", "ray"),
    f"{FLAGS} --task aminer/soy-easy": ("aminer/soy-easy", "aminer/soay-easy"),
    f"{FLAGS} --task wiki/musique,wiki/kqapro": ("'wiki/musique,wiki/kqapro'", "[wiki/musique,wiki/kqapro]"),
    **{f"run --quiet {name}.yaml": tuple(parts) for name, (_, *parts) in GRIDS.items()},
    "run nowhere.yaml": ("nowhere.yaml",),
    "run .": ("folder", "grid.yaml"),
    # questions, environments, templates
    "call bad.py": ("bad.py", "ZeroDivisionError", "bad.py:2"),
    "call nowhere.py": ("nowhere.py",),
    "call aminer searchPersn name=Ada": ("'searchPersn'", "searchPerson"),
    "call aminer name=Ada": ("name=Ada", "searchPerson"),
    "call aminer --set soruce=live": ("soruce", "source"),
    "call aminer --prompt oracle": ("'oracle'",),
    "call wiki Search Kenya": ("'Kenya'", "key=value"),
    "call wiki Search entity=Kenya -- Lookup keyword=x --json": ("'--json'", "first --"),
    "serve aminer": ("--http", "--mcp"),
    "generate wording.yaml --count 2 --seed 0 --out q.jsonl": ("wording.yaml", "home", "question"),
    "generate kind.yaml --count 2 --seed 0 --out q.jsonl": ("kind.yaml", "home", "persn"),
    "generate grid.yaml --out q.jsonl": ("grid.yaml", "templates, graph or placeholders"),
    "generate templates.yaml --out q.jsonl --private q.jsonl": ("q.jsonl", "both the public and the private"),
    "generate templates.yaml --out templates.yaml": ("templates.yaml would be written over",),
    "generate templates.yaml --out q.jsonl --environment wiki": ("no records of kind 'person'",),
    "generate api.yaml --out q.jsonl": ("unknown_api", "r-eval check api.yaml"),
    "generate templates.yaml --out done": ("--out", "'done'"),
    "new domain 1st": ("'1st'",),
    "new domian shop": ("'domian'", "domain"),
    # runs
    "report nowhere": ("nowhere", "no such folder"),
    "report grid.yaml": ("grid.yaml", "folder"),
    "score done --metric f2": ("'f2'",),
    "score done --taxonomy loose": ("loose", "strict"),
    "compare done --systems react+ada pal+ada": ("react+ada", "Did you mean react+scripted"),
    "show done --type XY": ("'XY'", "EM"),
    "show done --prompt": ("--prompt", "EPISODE_ID"),
    "show done --system raect+*": ("'raect+*'",),
    "show done --task aminer/soay-hard": ("aminer/soay-hard", "aminer/soay-easy"),
    "show done zzzz": ("zzzz", "show"),
    "list taks": ("'taks'", "tasks"),
    "list METRICS": ("'METRICS'", "mean metrics"),
    "show paper": ("paper", "no episodes"),
    "compare done": ("done", "two systems"),
    "report done --out grid.yaml": ("--out", "grid.yaml"),
    "report done ./done": ("done", "twice"),
    "data leaderboard runs/nowhere --out b": ("runs/nowhere", "no such folder"),
    "data leaderboard submt done": ("'submt'", "submit"),
}
CHECKED: dict[str, tuple[str, ...]] = {
    "check nowhere.jsonl": ("nowhere.jsonl",),
    "check wording.yaml": ("wording.yaml", "home"),
    "check kind.yaml": ("kind.yaml:3", "persn"),
    "check KEY.YAML": ("KEY.YAML:4", "samples"),
    "check key.yaml": ("key.yaml:4", "samples"),
    "check done": ("done is a folder",),
    "check llm.py": ("llm.py has no query API: put @query_api above its functions",),
    "check case.jsonl": ("case.jsonl:1", "Did you mean id?", "query, question; nothing"),
    "check blank.jsonl": ("blank.jsonl:1", "question"),
    "check good.jsonl --set source=live": ("--set", "--environment"),
}
"""Mistakes that `check` finds: they are results, on standard output."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files, and a run."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, text in {**FILES, **{f"{name}.yaml": text for name, (text, *_) in GRIDS.items()}}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="latin-1" if name.startswith("latin") else "utf-8")
    assert run(Grid.load(folder / "grid.yaml"), folder / "done").state == "complete"
    return folder


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

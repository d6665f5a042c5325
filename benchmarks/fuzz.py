"""Damaged and made-up input, at random: does everything that reads a file or a model's text refuse it in words?

    python -m benchmarks.fuzz [TARGET]... [--minutes 10] [--seed 0] [--only N] [--keep fuzz-crashes]

Targets: grid, questions, templates, text, records, runs, cache; all of them where none is named, each for that long.
A case is made from a good file by bit flips, cuts, repeated pieces, and values of other types in its YAML or JSON.
A reader may take it or raise a `UserError`; text that a model wrote may raise nothing at all. Everything else is a
crash, as is a case that takes more than 30 seconds of the processor: its input, its number and its traceback are kept
in a folder, once for each place in the code. `--only N` runs case N of a seed again.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import functools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.fuzz_mutations import bytes_changed, text_made, tree_changed

ROOT = Path(__file__).resolve().parents[1]
SLOWEST = 30
LLM = """def reply(request):
    return "Action: searchPerson(name=\\"Jonas\\")" if len(request.messages) < 4 else "Ada"
"""
GRID = "llms: [scripted/./llm.py:reply]\nworkflows: [direct, react]\ntasks: [aminer/soay-*]\nsamples: 2\nepochs: 2\n"


class TooSlow(BaseException):
    """A case took longer than it may; no reader's `except Exception` catches it."""


@dataclass
class Target:
    """What is fuzzed.

    Attributes:
        make: A case, from chance: writes it into an empty folder and returns its file or folder.
        read: Reads it; a `UserError` is what it may raise.
    """

    make: Callable[[random.Random, Path], Path]
    read: Callable[[Path, random.Random], None]


@dataclass
class Found:
    """What fuzzing one target gave."""

    cases: int = 0
    refused: int = 0
    crashes: dict[str, int] = field(default_factory=dict)


def changed_file(sources: list[Path], name: str) -> Callable[[random.Random, Path], Path]:
    """Cases from good files: changed in their bytes, or in what they say."""
    good = [(path.suffix, path.read_bytes()) for path in sources]

    def make(chance: random.Random, folder: Path) -> Path:
        suffix, data = chance.choice(good)
        change = bytes_changed if chance.random() < 0.4 else tree_changed
        path = folder / f"{name}{suffix}"
        path.write_bytes(change(chance, data, suffix))
        return path

    return make


def read_grid(path: Path, chance: random.Random) -> None:
    """Load a grid and find out what it stands for."""
    from r_eval.grid import Grid
    from r_eval.runner.plan import resolve

    grid = Grid.load(path)
    if chance.random() < 0.5:
        resolve(grid, limit=1)


def read_question_file(path: Path, chance: random.Random) -> None:
    """Read a question file, its season, and what a public or next season would be made of."""
    from r_eval.checks.questions import form
    from r_eval.tasks.questions import read_questions
    from r_eval.tasks.seasons import Refresher, read_season, season_path

    if path.suffix == ".json":
        beside = path.with_name("questions.jsonl")
        season_path(beside).write_bytes(path.read_bytes())
        read_season(beside)
        beside.write_bytes(b'{"id": "1", "question": "q", "answers": ["a"], "level": "KS"}\n')
        path = beside
    form(read_questions(path))
    Refresher([path])


def read_template_file(path: Path, chance: random.Random) -> None:
    """Read a template or graph file, and make questions of the first over the snapshot that it names."""
    import asyncio

    from r_eval.files import yaml_keys
    from r_eval.tasks.graphs.graph_file import read_graph_file
    from r_eval.tasks.templates.generate import generate
    from r_eval.tasks.templates.schema import read_templates

    if "graph" in yaml_keys(path):
        read_graph_file(path)
        return
    file = read_templates(path)
    if file.environment in ("aminer", "wiki") and chance.random() < 0.03:
        few = file.model_copy(update={"templates": file.templates[:1]})
        asyncio.run(generate(few, known_environment(few.environment), known_sandbox(), 1, 0))


@functools.cache
def known_environment(name: str) -> Any:
    """An environment, opened once."""
    from r_eval.tasks.base import open_environment

    return open_environment(name)


@functools.cache
def known_sandbox() -> Any:
    """A sandbox for programs, opened once."""
    from r_eval.environments.sandbox import Sandbox

    return Sandbox()


def read_text_of_a_model(path: Path, chance: random.Random) -> None:
    """Read a reply in every way that a workflow does; nothing may be raised."""
    from r_eval.environments.session import Session
    from r_eval.llms.base import Reply, ToolSpec
    from r_eval.llms.tool_calls import parse_action, read_reply
    from r_eval.workflows.answers import final_answer, free_answer
    from r_eval.workflows.pal import program_in

    text = path.read_bytes().decode("utf-8", "replace" if chance.random() < 0.5 else "surrogateescape")
    environment = known_environment(chance.choice(["wiki", "aminer"]))
    specs = environment.specs()
    for reads in (free_answer, program_in):
        reads(text)
    final_answer(Reply(text), specs)
    parse_action(text, specs)
    tools = [ToolSpec(name, spec.summary, spec.json_schema()) for name, spec in specs.items()]
    for call in read_reply(Reply(text), tools).tool_calls:
        asyncio.run(Session(environment, known_sandbox()).call(call.name, call.arguments))


def read_records(path: Path, chance: random.Random) -> None:
    """Read a file of episodes as a run folder does, for reading and for going on with it."""
    from r_eval.folder import Cell, CellWriter, RunFolder

    cell = Cell("react", "m", "clean", "t")
    run = RunFolder(path.parent / "run")
    there = cell.path(run.episodes_root)
    there.parent.mkdir(parents=True)
    shutil.copyfile(path, there)
    for _ in run.cell_episodes(cell):
        pass
    CellWriter(there).close()


def changed_run(whole: Path) -> Callable[[random.Random, Path], Path]:
    """Cases from a good run: one of its files changed, cut, emptied, taken away or put in the place of another."""
    names = sorted(str(p.relative_to(whole)) for p in whole.rglob("*") if p.is_file() and p.name != ".lock")

    def make(chance: random.Random, folder: Path) -> Path:
        run = folder / "run"
        shutil.copytree(whole, run)
        path = run / (chance.choice(names) if chance.random() < 0.7 else "run.json")
        how = chance.random()
        if how < 0.05:
            path.unlink()
        elif how < 0.1:
            path.write_bytes((whole / chance.choice(names)).read_bytes())
        else:
            change = bytes_changed if how < 0.5 else tree_changed
            path.write_bytes(change(chance, path.read_bytes(), path.suffix))
        return run

    return make


def read_run(path: Path, chance: random.Random) -> None:
    """Do with a run what the commands do: read, score, show, compare, report, go on."""
    import io

    import r_eval
    from r_eval.analysis.leaderboard_page import write_leaderboard
    from r_eval.analysis.report import write_report
    from r_eval.analysis.results import load
    from r_eval.analysis.scoring import score_run
    from r_eval.api import load_run
    from r_eval.cli.show import show
    from r_eval.folder import RunFolder
    from r_eval.grid import Grid

    run = RunFolder(path)
    what = chance.random()
    if what < 0.25:
        load_run(path).to_pandas()
    elif what < 0.5:
        run.state()
        score_run(run)
    elif what < 0.6:
        write_report(load(run), path.parent / "report", figures=False)
    elif what < 0.7:
        write_leaderboard([run], path.parent / "board")
    elif what < 0.85:
        with contextlib.redirect_stdout(io.StringIO()):
            show(path, next(run.episodes()).episode_id)
    else:
        r_eval.run(Grid.load(path.parents[1] / "good" / "grid.yaml"), out=path)


def read_cache(path: Path, chance: random.Random) -> None:
    """Open a store of replies, look for one and keep one."""
    from r_eval.llms.base import Reply
    from r_eval.llms.replay import Kept, ReplyKey
    from r_eval.llms.reply_store import ReplyStore

    async def use(store: ReplyStore) -> None:
        for key in b"a" * 16, b"7" * 16:
            await store.find(ReplyKey(key))
        await store.put(ReplyKey(b"b" * 16), Kept(Reply("text"), 1.0, b"owner"))

    with contextlib.closing(ReplyStore(path)) as store:
        asyncio.run(use(store))


def targets(folder: Path) -> dict[str, Target]:
    """What can be fuzzed, from the good files of this repository and a run that is made for it."""
    import r_eval
    from r_eval.grid import Grid
    from r_eval.llms.base import Reply
    from r_eval.llms.replay import Kept, ReplyKey
    from r_eval.llms.reply_store import ReplyStore

    good = folder / "good"
    good.mkdir()
    (good / "llm.py").write_text(LLM, encoding="utf-8")
    (good / "grid.yaml").write_text(GRID, encoding="utf-8")
    with contextlib.chdir(good):
        r_eval.run(Grid.load("grid.yaml"), out=good / "run")
    with contextlib.closing(ReplyStore(good / "replies.sqlite")) as store:
        for number in range(20):
            kept = Kept(Reply(f"reply {number}"), 1.0, b"owner")
            asyncio.run(store.put(ReplyKey(f"{number % 10}".encode() * 16), kept))
    grids = [*ROOT.glob("examples/**/grid*.yaml"), *ROOT.glob("examples/*/*.yaml"), ROOT / "r_eval" / "demo.yaml"]
    questions = sorted(ROOT.glob("tasks/**/*.questions.jsonl"), key=lambda path: path.stat().st_size)[:12]
    seasons = [*ROOT.glob("tasks/**/*.season.json"), *ROOT.glob("examples/**/*.season.json")]
    templates = [*ROOT.glob("tasks/**/*.templates.yaml"), *ROOT.glob("examples/**/*.templates.yaml")]
    templates += ROOT.glob("examples/**/*graph*.yaml")
    return {
        "grid": Target(changed_file(sorted({*grids, good / "grid.yaml"}), "grid"), read_grid),
        "questions": Target(changed_file([*questions, *sorted(seasons)], "questions"), read_question_file),
        "templates": Target(changed_file(sorted(templates), "file"), read_template_file),
        "text": Target(lambda chance, path: text_made(chance, path / "reply.txt"), read_text_of_a_model),
        "records": Target(changed_file(sorted(good.glob("run/episodes/**/*.jsonl")), "records"), read_records),
        "runs": Target(changed_run(good / "run"), read_run),
        "cache": Target(changed_file([good / "replies.sqlite"], "replies"), read_cache),
    }


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise `TooSlow` where a block takes more seconds of the processor."""

    def over(*arguments: Any) -> None:
        raise TooSlow(f"longer than {seconds} s")

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def tried(name: str, target: Target, folder: Path, seed: int, number: int) -> str | BaseException | None:
    """One case: None where it was read, "refused", or what it raised; the case is left in the folder."""
    from r_eval.errors import UserError

    chance = random.Random(f"{seed}/{name}/{number}")
    folder.mkdir()
    case = target.make(chance, folder)
    try:
        with at_most(SLOWEST):
            target.read(case, chance)
    except UserError as error:
        return "refused" if str(error).strip() else error
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  what is not expected is what is looked for
        return error
    return None


def place(error: BaseException) -> str:
    """Where in this repository an error was raised, by which crashes are told apart."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(ROOT))]
    last = frames[-1]
    return f"{type(error).__name__} at {Path(last.filename).relative_to(ROOT)}:{last.lineno}"


def fuzz(name: str, target: Target, folder: Path, seed: int, numbers: Iterator[int], keep: Path) -> Found:
    """Try cases of one target, and keep those that crash."""
    found = Found()
    for number in numbers:
        where = folder / f"{name}-{number}"
        outcome = tried(name, target, where, seed, number)
        found.cases += 1
        found.refused += outcome == "refused"
        if isinstance(outcome, BaseException):
            at = place(outcome)
            if at not in found.crashes:
                kept = keep / f"{name}-{seed}-{number}"
                shutil.copytree(where, kept, dirs_exist_ok=True)
                (kept / "error.txt").write_text("".join(traceback.format_exception(outcome)), encoding="utf-8")
                print(f"{name}: case {number} of seed {seed}: {at}: {str(outcome)[:120]!r}, kept in {kept}", flush=True)
            found.crashes[at] = found.crashes.get(at, 0) + 1
        shutil.rmtree(where)
    return found


def until(end: float) -> Iterator[int]:
    """Numbers from 0 on, until a time has come."""
    number = 0
    while time.monotonic() < end:
        yield number
        number += 1


def main() -> int:
    """Fuzz what is named; 1 where something crashed."""
    parser = argparse.ArgumentParser(description="Fuzz what R-Eval reads.")
    parser.add_argument("target", nargs="*")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-crashes"))
    given = parser.parse_args()
    keep = given.keep.resolve()
    sums = collections.Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["R_EVAL_REPLIES"] = str(folder / "own-replies.sqlite")
        known = targets(folder)
        if unknown := [one for one in given.target if one not in known]:
            parser.error(f"no target is called {unknown[0]}; there are {', '.join(known)}")
        with contextlib.chdir(folder / "good"):
            for one in given.target or known:
                numbers = until(time.monotonic() + 60 * given.minutes) if given.only is None else iter([given.only])
                found = fuzz(one, known[one], folder, given.seed, numbers, keep)
                print(
                    f"{one}: {found.cases:,} cases, {found.refused:,} refused in words, "
                    f"{sum(found.crashes.values()):,} crashes at {len(found.crashes)} places",
                    flush=True,
                )
                sums.update(crashes=len(found.crashes))
    return int(sums["crashes"] > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Fuzzing: checks that damaged input from files, servers and models is either accepted or refused with a message.

    python -m benchmarks.fuzz [TARGET]... [--minutes 10] [--seed 0]

Targets: grid, questions, templates, text, replies, records, runs, cache, openapi. A case is a valid file with bits
flipped, pieces removed, repeated or inserted, or with values of its YAML or JSON replaced. A reader may accept it or
raise a `UserError` (for a reply of a server, an `LLMError`); text of a model must raise nothing. Anything else is a
crash, as are 30 seconds of processor time. Each crash is printed once per place in the code; the seed reproduces its
case.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import copy
import io
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

import r_eval
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import score_run
from r_eval.errors import UserError
from r_eval.folder import Cell, RunFolder
from r_eval.grid import Grid
from r_eval.llms.base import LLMError, Reply, ToolSpec
from r_eval.llms.replay import ReplyKey, StoredReply
from r_eval.llms.reply import decode_body, parse_reply
from r_eval.llms.reply_store import ReplyStore
from r_eval.llms.tool_calls import parse_action, read_reply
from r_eval.runner.plan import resolve
from r_eval.tasks.base import open_environment
from r_eval.tasks.questions import read_questions
from r_eval.tasks.templates import read_templates
from r_eval.workflows.answers import final_answer, free_answer
from r_eval.workflows.pal import program_in
from tests.hostile import HOSTILE

ROOT = Path(__file__).resolve().parents[1]
SLOWEST = 30
GRID = "llms: [scripted/./llm.py:reply]\nworkflows: [direct, react]\ntasks: [aminer/soay-*]\nsamples: 2\n"
LLM = 'def reply(request):\n    return "Ada" if len(request.messages) > 3 else "Action: searchPerson(name=\\"Jo\\")"\n'
REPLY = {
    "choices": [
        {"message": {"content": "Ω", "tool_calls": [{"id": "a", "function": {"name": "Search", "arguments": "{}"}}]}}
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}
PETS = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:9"}],
    "paths": {
        "/pets/{name}": {
            "get": {"operationId": "pet", "parameters": [{"name": "name", "in": "path", "required": True}]}
        }
    },
}
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63, 10**400, 1e308, float("nan"), "", [], {}, [[]], {"": ""}, [None], "../../x", "a:b"),
    "x" * 5000,
)
PIECES = (
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"{",
    b"[" * 3000,
    b'"',
    b"\n",
    b": ",
    b"&a *a",
    b"!!python/object:os",
    b"9" * 5000,
)
CALLS = (
    *(
        "Action: Search[Kenya]",
        "<tool_call>",
        "</tool_call>",
        "```python\n",
        "```",
        "[TOOL_CALLS]",
        "答案：",
        "<think>",
    ),
    *(
        '{"name": "Search", "arguments": {"entity": "Kenya"}}',
        "Action Input: ",
        "answer = 1\n",
        "(",
        "]",
        '"',
        "\\",
        "\n",
    ),
)
Make = Callable[[random.Random, Path], Path]
Read = Callable[[Path], object]


class TooSlow(BaseException):
    """A case took too long; no reader's `except Exception` catches this."""


def mutate_bytes(chance: random.Random, data: bytes) -> bytes:
    """The bytes with one to four changes."""
    for _ in range(chance.randint(1, 4)):
        start, end = sorted(chance.randint(0, len(data)) for _ in "ab")
        end = min(end, start + 200)
        new = chance.choice([b"", data[start:end] * 2, chance.choice(PIECES), chance.randbytes(4)])
        data = data[:start] + new + (data[end:] if chance.random() < 0.9 else b"")
    return data


def mutate_values(chance: random.Random, data: bytes, suffix: str) -> bytes:
    """A YAML, JSON or JSON Lines file with one to three values changed; other files are changed bytewise."""
    if suffix == ".jsonl":
        lines = data.splitlines(keepends=True) or [b"{}\n"]
        place = chance.randrange(len(lines))
        lines[place] = to_bytes(mutate(chance, json.loads(lines[place]))) + b"\n"
        return b"".join(lines)
    if suffix in (".json", ".yaml"):
        return to_bytes(mutate(chance, yaml.safe_load(data)))
    return mutate_bytes(chance, data)


def to_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


def mutate(chance: random.Random, tree: Any) -> Any:
    tree = copy.deepcopy(tree)
    for _ in range(chance.randint(1, 3)):
        if not (places := list(places_of(tree))):
            return chance.choice(ODD)
        holder, key = chance.choice(places)
        if chance.random() < 0.2:
            del holder[key]
        else:
            holder[key] = chance.choice(ODD if chance.random() < 0.5 else HOSTILE)
    return tree


def places_of(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every position in a tree whose value can be replaced."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from places_of(value)


def of_files(*files: Path) -> Make:
    """Cases from valid files."""
    good = [(path.suffix, path.read_bytes()) for path in files]

    def make(chance: random.Random, folder: Path) -> Path:
        suffix, data = chance.choice(good)
        path = folder / f"case{suffix}"
        by_bytes = chance.random() < 0.4
        path.write_bytes(mutate_bytes(chance, data) if by_bytes else mutate_values(chance, data, suffix))
        return path

    return make


def of_run(good: Path) -> Make:
    """Cases from a valid run with one of its files changed or removed."""
    names = sorted(path.relative_to(good) for path in good.rglob("*.json*") if path.is_file())

    def make(chance: random.Random, folder: Path) -> Path:
        run = folder / "run"
        shutil.copytree(good, run)
        path = run / (chance.choice(names) if chance.random() < 0.6 else "run.json")
        if chance.random() < 0.1:
            path.unlink()
        else:
            shutil.move(of_files(path)(chance, folder), path)
        return run

    return make


def make_reply(chance: random.Random, folder: Path) -> Path:
    """A reply of a model: pieces of calls, hostile texts and noise."""
    pieces = (chance.choice(CALLS if chance.random() < 0.8 else HOSTILE) for _ in range(chance.randint(1, 12)))
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    path = folder / "reply.txt"
    path.write_bytes(mutate_bytes(chance, data) if chance.random() < 0.4 else data)
    return path


def read_grid(path: Path) -> None:
    resolve(Grid.load(path), limit=1)


def read_text(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    specs = open_environment("wiki").specs()
    tools = [ToolSpec(name, spec.summary, spec.json_schema()) for name, spec in specs.items()]
    for work in (free_answer, program_in):
        work(text)
    parse_action(text, specs)
    final_answer(Reply(text), specs)
    read_reply(Reply(text), tools)


def read_provider_reply(path: Path) -> None:
    with contextlib.suppress(LLMError, ValueError):  # ValueError: the body is not JSON
        parse_reply(decode_body(path.read_bytes()))


def read_records(path: Path) -> None:
    cell, run = Cell("react", "m", "clean", "t"), RunFolder(path.parent / "run")
    target = cell.path(run.episodes_root)
    target.parent.mkdir(parents=True)
    shutil.copyfile(path, target)
    list(run.cell_episodes(cell))


def read_run(path: Path) -> None:
    """Read, score, report and resume, like the commands."""
    run = RunFolder(path)
    r_eval.load_run(path).to_pandas()
    score_run(run)
    write_report(load(run), path.parent / "report", figures=False)
    r_eval.run(Grid.load(Path("grid.yaml")), out=path)


def read_cache(path: Path) -> None:
    async def use(store: ReplyStore) -> None:
        await store.find(ReplyKey(b"7" * 16))
        await store.put(ReplyKey(b"b" * 16), StoredReply(Reply("text"), 1.0, b"owner"))

    with contextlib.closing(ReplyStore(path)) as store:
        asyncio.run(use(store))


def read_openapi(path: Path) -> None:
    open_environment(f"openapi:{path}").specs()


def targets(good: Path) -> dict[str, tuple[Make, Read]]:
    """The fuzz targets, with cases from the repository's files and from a new run."""
    (good / "llm.py").write_text(LLM, encoding="utf-8")
    (good / "grid.yaml").write_text(GRID, encoding="utf-8")
    (good / "reply.json").write_text(json.dumps(REPLY), encoding="utf-8")
    (good / "pets.json").write_text(json.dumps(PETS), encoding="utf-8")
    r_eval.run(Grid.load(good / "grid.yaml"), out=good / "run")
    with contextlib.closing(ReplyStore(good / "replies.sqlite")) as store:
        asyncio.run(store.put(ReplyKey(b"7" * 16), StoredReply(Reply("Ω"), 1.0, b"owner")))
    questions = sorted(ROOT.glob("tasks/**/*.questions.jsonl"), key=lambda path: path.stat().st_size)[:12]
    return {
        "grid": (of_files(good / "grid.yaml", *sorted(ROOT.glob("examples/**/grid.yaml"))), read_grid),
        "questions": (of_files(*questions), read_questions),
        "templates": (of_files(*sorted(ROOT.glob("tasks/**/*.templates.yaml"))), read_templates),
        "text": (make_reply, read_text),
        "replies": (of_files(good / "reply.json"), read_provider_reply),
        "records": (of_files(*sorted(good.glob("run/episodes/**/*.jsonl"))), read_records),
        "runs": (of_run(good / "run"), read_run),
        "cache": (of_files(good / "replies.sqlite"), read_cache),
        "openapi": (of_files(good / "pets.json"), read_openapi),
    }


def run_case(make: Make, read: Read, folder: Path, chance: random.Random) -> BaseException | None:
    """The exception that one case raised; None if it was accepted."""

    def over(*arguments: Any) -> None:
        raise TooSlow(f"longer than {SLOWEST} s")

    case = make(chance, folder)
    signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, SLOWEST)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            read(case)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  unexpected exceptions are the finding
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def fuzz(name: str, make: Make, read: Read, minutes: float, seed: int) -> int:
    """Try cases of one target for some minutes; returns the number of places in the code that crashed."""
    end, counts, crashes = time.monotonic() + 60 * minutes, Counter[str](), set[str]()
    while time.monotonic() < end:
        counts["cases"] += 1
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            error = run_case(make, read, Path(folder), random.Random(f"{seed}/{name}/{counts['cases']}"))
        if isinstance(error, UserError):
            counts["refused"] += 1
        elif error is not None:
            last = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(ROOT))][-1]
            place = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            if place not in crashes:
                print(f"{name}: case {counts['cases']} of seed {seed}: {place}: {str(error)[:120]!r}", flush=True)
            crashes.add(place)
    print(
        f"{name}: {counts['cases']:,} cases, {counts['refused']:,} refused with a message, {len(crashes)} crashes",
        flush=True,
    )
    return len(crashes)


def main() -> int:
    """Fuzz the named targets; returns 1 if one crashed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        all_targets = targets(Path(folder))
        if unknown := [name for name in options.target if name not in all_targets]:
            parser.error(f"no target is called {unknown[0]}; there are {', '.join(all_targets)}")
        names = options.target or all_targets
        return int(sum(fuzz(name, *all_targets[name], options.minutes, options.seed) for name in names) > 0)


if __name__ == "__main__":
    sys.exit(main())

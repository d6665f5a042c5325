"""Fuzzing: checks that damaged input from files, servers and models is either accepted or refused with a message.

    python -m benchmarks.fuzz [--minutes 10] [--seed 0] [--only TARGET]

Targets: grid, questions, templates, text, replies, records, runs, openapi, mcp. A case is a valid file with bits
flipped, pieces removed, repeated or inserted, or with values of its YAML or JSON replaced. A reader may accept it or
raise one of REFUSALS; text of a model must raise nothing. Anything else is a crash, as are 30 seconds of processor
time and 8 GiB of memory. Each crash is printed once per place in the code; the seed reproduces its case.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import fnmatch
import io
import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

import r_eval
from benchmarks.measure import options
from r_eval.analysis.report import write_report
from r_eval.analysis.results import load
from r_eval.analysis.scoring import score_run
from r_eval.environments.base import EnvironmentFailure
from r_eval.environments.sandbox import Sandbox
from r_eval.environments.session import Session
from r_eval.errors import UserError
from r_eval.folder import Cell, RunFolder
from r_eval.grid import Grid
from r_eval.llms.base import LLMError, Reply, ToolSpec
from r_eval.llms.reply import decode_body, parse_reply
from r_eval.llms.tool_calls import parse_action, read_reply
from r_eval.runner.plan import resolve
from r_eval.tasks.base import open_environment
from r_eval.tasks.questions import read_questions
from r_eval.tasks.templates import read_templates
from r_eval.workflows.answers import final_answer, free_answer
from r_eval.workflows.pal import program_in
from tests.hostile import HOSTILE
from tests.serving import serving

ROOT = Path(__file__).resolve().parents[1]
REFUSALS = (UserError, LLMError, EnvironmentFailure)
SLOWEST = 30
MEMORY = 8 << 30
GRID = "llms: [scripted/./llm.py:reply]\nworkflows: [direct, react]\ntasks: [aminer/soay-*]\nsamples: 2\n"
LLM = 'def reply(request):\n    return "Ada" if len(request.messages) > 3 else "Action: searchPerson(name=\\"Jo\\")"\n'
REPLY = """{"choices": [{"message": {"content": "Ω", "tool_calls": [{"id": "a", "function":
 {"name": "Search", "arguments": "{}"}}]}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}"""
PETS = """{"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "servers": [{"url": "http://127.0.0.1:9"}],
 "paths": {"/pets/{name}": {"get": {"operationId": "pet", "parameters": [{"name": "name", "in": "path",
 "required": true, "schema": {"anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/Name"}]}}]}}},
 "components": {"schemas": {"Name": {"type": "string", "pattern": "a+", "maxLength": 9}}}}"""
MCP = """{"jsonrpc": "2.0", "id": 7, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, \
"serverInfo": {"name": "s", "version": "1"}, "instructions": "Words."}}
{"jsonrpc": "2.0", "id": 7, "result": {"tools": [{"name": "look", "description": "Look up.", "inputSchema": \
{"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}]}}
{"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "北京"}], "structuredContent": {"a": [1]}, \
"isError": false}}
"""
METHODS = ("initialize", "tools/list", "tools/call")
"""The requests to which the lines of MCP are the replies."""
NUMBERS = (True, 0, -1, 2**63, 10**400, 1e308, float("nan"))
ODD: tuple[Any, ...] = (*NUMBERS, None, "", [], {}, [[]], {"": ""}, [None], "../../x", "a:b", "x" * 5000)
PIECES = (
    b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"{", b"[" * 3000, b'"', b"\n", b": ", b"&a *a", b"!!python/object:os",
    b"9" * 5000,
)  # fmt: skip
CALLS = (
    "Action: Search[Kenya]", "<tool_call>", "</tool_call>", "```python\n", "```", "[TOOL_CALLS]", "答案：", "<think>",
    '{"name": "Search", "arguments": {"entity": "Kenya"}}', "Action Input: ", "answer = 1\n", "(", "]", '"', "\\", "\n",
)  # fmt: skip
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
    """A YAML or JSON file, or a line of a JSON Lines file, with one to three values changed."""
    lines = (data.splitlines() or [b"{}"]) if suffix == ".jsonl" else [data]
    place = chance.randrange(len(lines))
    tree = mutate(chance, yaml.safe_load(data) if suffix != ".jsonl" else json.loads(lines[place]))
    lines[place] = json.dumps(tree, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def mutate(chance: random.Random, tree: Any) -> Any:
    for _ in range(chance.randint(1, 3)):
        if not (places := list(places_of(tree))):
            return chance.choice(ODD)
        holder, key = chance.choice(places)
        if chance.random() < 0.2:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(chance.choice(ODD if chance.random() < 0.5 else HOSTILE))
    return tree


def places_of(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every position in a tree whose value can be replaced."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from places_of(value)


def of_files(*files: Path) -> Make:
    """Cases from valid files."""

    def make(chance: random.Random, folder: Path) -> Path:
        good = chance.choice(files)
        path, data = folder / f"case{good.suffix}", good.read_bytes()
        by_bytes = chance.random() < 0.4
        path.write_bytes(mutate_bytes(chance, data) if by_bytes else mutate_values(chance, data, good.suffix))
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


def make_text(chance: random.Random, folder: Path) -> Path:
    """Text of a model: pieces of calls, hostile texts and noise."""
    pieces = (chance.choice(CALLS if chance.random() < 0.8 else HOSTILE) for _ in range(chance.randint(1, 12)))
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    path = folder / "reply.txt"
    path.write_bytes(mutate_bytes(chance, data) if chance.random() < 0.4 else data)
    return path


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
    with contextlib.suppress(ValueError):  # the body is not JSON
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


@contextlib.contextmanager
def mcp_reader() -> Iterator[Read]:
    """Reads a case as the replies of an MCP server."""
    lines: list[bytes] = []

    async def reply(request: web.Request) -> web.Response:
        message = await request.json() if request.method == "POST" else {}
        if message.get("method") not in METHODS:
            return web.Response(status=202 if message else 405)
        line = lines[METHODS.index(message["method"]) % len(lines)] if lines else b""
        body = line.replace(b'"id": 7', f'"id": {json.dumps(message["id"])}'.encode())
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_route("*", "/", reply)
    with serving(app) as address:

        def read(path: Path) -> None:
            lines[:] = path.read_bytes().splitlines()
            environment = open_environment(f"mcp:{address}/", {"timeout": 1})
            with closing(environment), Sandbox() as sandbox, closing(Session(environment, sandbox)) as session:
                for api in list(session.specs)[:1]:
                    asyncio.run(session.call(api, {"word": "x"}))

        yield read


def targets(good: Path, read_mcp: Read) -> dict[str, tuple[Make, Read]]:
    """The fuzz targets, with cases from the repository's files and from a new run."""
    files = {"llm.py": LLM, "grid.yaml": GRID, "reply.json": REPLY, "pets.json": PETS, "mcp.jsonl": MCP}
    for name, text in files.items():
        (good / name).write_text(text, encoding="utf-8")
    r_eval.run(Grid.load(good / "grid.yaml"), out=good / "run")
    questions = sorted(ROOT.glob("tasks/**/*.questions.jsonl"), key=lambda path: path.stat().st_size)[:12]
    grids = (good / "grid.yaml", *sorted(ROOT.glob("examples/**/grid.yaml")))
    return {
        "grid": (of_files(*grids), lambda path: resolve(Grid.load(path), limit=1)),
        "questions": (of_files(*questions), read_questions),
        "templates": (of_files(*sorted(ROOT.glob("tasks/**/*.templates.yaml"))), read_templates),
        "text": (make_text, read_text),
        "replies": (of_files(good / "reply.json"), read_provider_reply),
        "records": (of_files(*sorted(good.glob("run/episodes/**/*.jsonl"))), read_records),
        "runs": (of_run(good / "run"), read_run),
        "openapi": (of_files(good / "pets.json"), lambda path: open_environment(f"openapi:{path}").specs()),
        "mcp": (of_files(good / "mcp.jsonl"), read_mcp),
    }


def too_slow(*arguments: Any) -> None:
    raise TooSlow(f"longer than {SLOWEST} s")


def run_case(make: Make, read: Read, folder: Path, chance: random.Random) -> BaseException | None:
    """The exception that one case raised; None if it was accepted."""
    case = make(chance, folder)
    signal.signal(signal.SIGPROF, too_slow)
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
        if isinstance(error, REFUSALS):
            counts["refused"] += 1
        elif error is not None:
            last = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(ROOT))][-1]
            place = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            if place not in crashes:
                print(f"{name}: case {counts['cases']} of seed {seed}: {place}: {str(error)[:120]!r}", flush=True)
            crashes.add(place)
    totals = f"{counts['cases']:,} cases, {counts['refused']:,} refused with a message, {len(crashes)} crashes"
    print(f"{name}: {totals}", flush=True)
    return len(crashes)


def main() -> int:
    """Fuzz the targets; returns 1 if one crashed."""
    chosen = options(__doc__, only="*", minutes=10.0, seed=0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), mcp_reader() as read_mcp:
        all_targets = targets(Path(folder), read_mcp)
        if not (names := fnmatch.filter(all_targets, chosen.only)):
            sys.exit(f"--only {chosen.only}: no such target; known: {', '.join(all_targets)}")
        return int(sum(fuzz(name, *all_targets[name], chosen.minutes, chosen.seed) for name in names) > 0)


if __name__ == "__main__":
    sys.exit(main())

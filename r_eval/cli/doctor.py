"""`r-eval doctor`: what is installed, what is missing, and the one next command.

With a grid it looks at what that grid needs: its files and names, its LLMs (a server is asked one short question with
the key that the grid names; a local model's file is looked for, not loaded and not fetched), its environments, and the
room on the disk. Nothing is written but what opening an environment keeps in the user's cache.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from r_eval import __version__
from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_file, is_folder, user_path

if TYPE_CHECKING:
    from r_eval.llms.base import LLM
    from r_eval.runner.plan import Plan

Status = Literal["ok", "missing", "wrong"]

EXTRAS = {
    "local": ("xllamacpp", "local models (gguf/...)"),
    "report": ("matplotlib", "figures for papers"),
    "pandas": ("pandas", "Run.to_pandas"),
    "parquet": ("pyarrow", "Run.to_parquet"),
    "prices": ("genai_prices", "the prices of OpenAI's models"),
    "retrieval": ("bm25s", "sparse retrieval over a corpus, Chinese words"),
    "dense": ("sentence_transformers", "dense and hybrid retrieval, embedding_similarity"),
    "metrics": ("sacrebleu", "BLEU and ROUGE of Chinese as published"),
    "bert": ("bert_score", "bert_score"),
    "hf": ("transformers", "models behind transformers (hf/...)"),
    "langchain": ("langchain_core", "chat models, tools and retrievers of LangChain (langchain/..., langchain:...)"),
    "langgraph": ("langchain", "agents of LangChain and LangGraph as workflows (langgraph/...)"),
    "mcp": ("mcp", "environments behind MCP servers (mcp:...), r-eval serve --mcp"),
    "wiki": ("lxml", "live wikis (source: live)"),
    "zim": ("libzim", "ZIM files as wikis (source: zim)"),
    "aminer": ("pybtex", "live AMiner, and importing publication databases"),
    "datasets": ("datasets", "question sets of the Hugging Face Hub"),
    "ray": ("ray", "many machines (--engine ray)"),
    "otel": ("opentelemetry", "traces for OpenTelemetry"),
}
"""By extra the module that shows it is there, and what it is for."""

EPISODE_BYTES = 20_000
"""Room on the disk for an episode of many long steps."""


class Check(NamedTuple):
    """Something that was looked at, the command that mends it, and whether the demo or the grid needs it."""

    status: Status
    about: str
    todo: str = ""
    needed: bool = True


def doctor_command(grid: Path | None, as_json: bool) -> int:
    """Print what was found; 1 where something that the grid needs is amiss, else 0.

    Raises:
        UserError: The grid itself is wrong, or an extra that it names things of is missing.
    """
    checks = list(_grid(grid) if grid is not None else _installed())
    amiss = [check for check in checks if check.status != "ok"]
    needed = amiss if grid is not None else [check for check in amiss if check.needed]
    first = next((check.todo for check in needed if check.todo), "")
    if not needed:
        first = "r-eval demo" if grid is None else f"r-eval run {grid}"
    if as_json:
        found = [check._asdict() for check in checks]
        answer = {"version": __version__, "python": platform.python_version(), "checks": found, "next": first}
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    else:
        lines = [f"r-eval {__version__}, Python {platform.python_version()}"]
        lines += [f"{check.status:<7}  {check.about}{check.todo and f'; {check.todo}'}" for check in checks]
        lines.append(f"next: {first or 'mend what is named above'}")
        sys.stdout.write("\n".join(lines) + "\n")
    return 1 if amiss and grid is not None else 0


def _installed() -> Iterator[Check]:
    """The extras and the embedded models."""
    for extra, (module, purpose) in EXTRAS.items():
        there = importlib.util.find_spec(module) is not None
        todo = "" if there else _install(extra)
        yield Check("ok" if there else "missing", f"{module}: {purpose}", todo, needed=extra == "local")
    from r_eval.llms.model_files import MODELS

    yield from map(_embedded, MODELS)


def _grid(path: Path) -> Iterator[Check]:
    """All that a grid needs."""
    from r_eval.grid import Grid
    from r_eval.runner import budget
    from r_eval.runner.plan import resolve

    plan = resolve(Grid.load(path))
    budget.check(plan)
    yield Check("ok", f"{path}: {len(plan.cells):,} cells, {plan.episodes():,} episodes")
    yield from _environments(plan)
    for llm in plan.llms.values():
        yield asyncio.run(_llm(llm))
    yield _room(path.parent, plan)


def _environments(plan: Plan) -> Iterator[Check]:
    """Whether the environment of each task opens."""
    for planned in plan.tasks:
        try:
            planned.environment.open().close()
        except Exception as error:  # noqa: BLE001  environments may be anybody's
            yield Check("wrong", f"the environment of {planned.task.name}: {type(error).__name__}: {error}")
        else:
            apis = len(planned.environment.specs())
            yield Check("ok", f"{planned.task.name}: {len(planned.asked)} questions, {apis} query APIs")


async def _llm(llm: LLM) -> Check:
    """Whether an LLM is there: a server answers, a local model has its file."""
    from r_eval.llms.base import LLMError

    if llm.is_local:
        return _local(llm)
    try:
        await llm.open()
    except MissingExtra as missing:
        return Check("missing", str(missing), missing.command)
    except LLMError as error:
        key = getattr(llm, "api_key_env", "")
        return Check("wrong", str(error), f"export {key}=..." if error.cause == "key" and key else "")
    except UserError as error:
        return Check("wrong", str(error))
    finally:
        await llm.close()
    return Check("ok", f"{llm.name} answers")


def _local(llm: LLM) -> Check:
    """Whether a model that runs on this machine has what it needs."""
    from r_eval.llms.model_files import MODELS

    backend = llm.spec.partition("/")[0]
    extra = {"gguf": "local", "hf": "hf"}.get(backend)
    if extra and importlib.util.find_spec(EXTRAS[extra][0]) is None:
        return Check("missing", f"{llm.name}: {EXTRAS[extra][0]} is not installed", _install(extra))
    if llm.model in MODELS:
        return _embedded(llm.model)
    if is_file(user_path(llm.model)) or is_folder(user_path(llm.model)):
        return Check("ok", f"{llm.name}: its file is there")
    if backend == "hf":
        return Check("ok", f"{llm.name}: no folder here, so it is fetched from the Hub when the run begins")
    return Check("missing", f"{llm.name}: there is no file {llm.model}")


def _embedded(name: str) -> Check:
    from r_eval.llms.model_files import model_path

    there = model_path(name).exists()
    todo = "" if there else f"r-eval pull {name}"
    return Check("ok" if there else "missing", f"model {name}: {model_path(name)}", todo)


def _room(folder: Path, plan: Plan) -> Check:
    """Whether the disk has room for the run."""
    free, needed = shutil.disk_usage(folder if folder.exists() else Path()).free, plan.episodes() * EPISODE_BYTES
    about = f"disk: {free / 1e9:.1f} GB free; the run may take {max(needed, 10**6) / 1e9:.3f} GB"
    return Check("ok" if free > needed else "wrong", about)


def _install(extra: str) -> str:
    return f"pip install 'r-eval[{extra}]'"

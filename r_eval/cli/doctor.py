"""`r-eval doctor`: what is installed, what is missing, and the one next command.

With a grid it checks what that grid needs: its names and files, its environments, and its LLMs (a server gets one short
question with the key that the grid names; a local model's file is looked for, not loaded).
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from typer import Argument, Exit, Option

from r_eval import __version__
from r_eval.analysis.warnings import counted
from r_eval.cli.options import Json, print_json, print_lines
from r_eval.errors import MissingExtra, UserError
from r_eval.files import user_path
from r_eval.grid import Grid
from r_eval.isolation import describe
from r_eval.llms.base import LLM, LLMError
from r_eval.llms.model_files import MODELS, fetch_model, model_path
from r_eval.runner.plan import Plan, resolve

EXTRAS = {
    "local": ("xllamacpp", "local models (gguf/...)"),
    "report": ("matplotlib", "figures for papers"),
    "parquet": ("pyarrow", "Parquet files"),
    "prices": ("genai_prices", "the prices of OpenAI's models"),
    "retrieval": ("langchain_text_splitters", "sparse retrieval over a corpus, Chinese words"),
    "dense": ("sentence_transformers", "dense and hybrid retrieval, embedding_similarity"),
    "metrics": ("sacrebleu", "BLEU and ROUGE of Chinese as published"),
    "bert": ("bert_score", "bert_score"),
    "hf": ("transformers", "models behind transformers (hf/...)"),
    "langchain": ("langchain_core", "chat models, tools and retrievers of LangChain (langchain/..., langchain:...)"),
    "mcp": ("mcp", "environments behind MCP servers (mcp:...), r-eval serve --mcp, any agent as a workflow"),
    "wiki": ("requests_cache", "live wikis (source: live)"),
    "zim": ("libzim", "ZIM files as wikis (source: zim)"),
    "aminer": ("requests_cache", "live AMiner (source: live)"),
    "datasets": ("datasets", "question sets of the Hugging Face Hub"),
    "ray": ("ray", "many machines (--engine ray)"),
}
"""By extra the module that shows it is there, and what it is for."""


class Check(NamedTuple):
    """Something that was checked, the command that fixes it, and whether the demo or the grid needs it."""

    status: Literal["ok", "missing", "wrong"]
    about: str
    todo: str = ""
    needed: bool = True


def doctor(
    grid: Annotated[
        Path | None, Argument(metavar="GRID.yaml", help="Check what this grid needs; its servers are contacted.")
    ] = None,
    fetch: Annotated[
        bool, Option("--fetch", help="Fetch the embedded models that are missing, verified by SHA-256.")
    ] = False,
    json: Json = False,
) -> None:
    """Say what is installed, what is missing, and what to type.

    With a grid, the exit status is 1 if something that it needs is missing or wrong.
    """
    plan = resolve(Grid.load(grid)) if grid is not None else None
    if fetch:
        for name in MODELS if plan is None else [llm.model for llm in plan.llms.values() if llm.model in MODELS]:
            fetch_model(name)
    checks = list(_of_grid(grid, plan) if grid is not None and plan is not None else _installed())
    needed = [check for check in checks if check.status != "ok" and check.needed]
    first = next((check.todo for check in needed if check.todo), "fix the items above")
    if not needed:
        first = "r-eval demo" if grid is None else f"r-eval run {shlex.quote(str(grid))}"
    if json:
        found = [check._asdict() for check in checks]
        print_json({"version": __version__, "python": platform.python_version(), "checks": found, "next": first})
    else:
        lines = [f"r-eval {__version__}, Python {platform.python_version()}"]
        lines += [f"{check.status:<7}  {check.about}{check.todo and f'; {check.todo}'}" for check in checks]
        print_lines([*lines, f"next: {first}"])
    raise Exit(1 if needed and grid is not None else 0)


def _installed() -> Iterator[Check]:
    """The extras and the embedded models."""
    for extra, (module, purpose) in EXTRAS.items():
        yield _module(extra, f"{module}: {purpose}")._replace(needed=extra == "local")
    for name in MODELS:
        yield _embedded(name, "r-eval doctor --fetch")


def _of_grid(path: Path, plan: Plan) -> Iterator[Check]:
    """All that a grid needs."""
    yield Check("ok", f"{path}: {counted(len(plan.cells), 'cell')}, {counted(plan.episodes(), 'episode')}")
    for planned in plan.tasks:
        try:
            planned.environment.open().close()
        except Exception as error:  # noqa: BLE001  environments may be anybody's
            yield Check("wrong", f"the environment of {planned.task.name}: {describe(error)}")
        else:
            apis = len(planned.environment.specs())
            yield Check("ok", f"{planned.task.name}: {len(planned.questions)} questions, {apis} query APIs")
    for llm in plan.llms.values():
        yield _local(llm, path) if llm.is_local else asyncio.run(_server(llm))


async def _server(llm: LLM) -> Check:
    """Whether a server answers."""
    try:
        await llm.open()
    except MissingExtra as missing:
        return Check("missing", str(missing), missing.command)
    except (LLMError, UserError) as error:
        key = getattr(llm, "api_key_env", "") if getattr(error, "cause", "") == "key" else ""
        return Check("wrong", str(error), f"export {key}=..." if key else "")
    finally:
        await llm.close()
    return Check("ok", f"{llm.name} answers")


def _local(llm: LLM, grid: Path) -> Check:
    """Whether a model that runs on this machine has what it needs."""
    extra = {"gguf": "local", "hf": "hf"}.get(llm.spec.partition("/")[0])
    if extra is not None:
        installed = _module(extra, f"{llm.name}: {EXTRAS[extra][0]} is not installed")
        if installed.status != "ok":
            return installed
    if llm.model in MODELS:
        return _embedded(llm.model, f"r-eval doctor {shlex.quote(str(grid))} --fetch")
    if os.path.exists(user_path(llm.model)) or extra == "hf":  # noqa: PTH110  a name may be too long for a path
        return Check("ok", f"{llm.name}: its files are there, or are fetched from the Hub by the run")
    return Check("missing", f"{llm.name}: there is no file {llm.model}")


def _module(extra: str, about: str) -> Check:
    """Whether the module of an extra is installed."""
    if importlib.util.find_spec(EXTRAS[extra][0]) is not None:
        return Check("ok", about)
    return Check("missing", about, f"pip install 'r-eval[{extra}]'")


def _embedded(name: str, todo: str) -> Check:
    there = model_path(name).exists()
    return Check("ok" if there else "missing", f"model {name}: {model_path(name)}", "" if there else todo)

"""`r-eval data crud`: CRUD data sets of reports of one's own."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from r_eval.environments.corpus.sources import read_documents
from r_eval.errors import UserError
from r_eval.tasks.crud_builder import COUNT, REPLY_TOKENS, CrudSet, build, write
from r_eval.tasks.llm_client import LLMClient, reply_cache


def crud(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The reports: .txt or .md files, or one .jsonl file.")
    ],
    llm: Annotated[str, typer.Option("--llm", metavar="LLM", help="Writes the questions and texts, and judges them.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The folder to write; by default crud-<folder>.")
    ] = None,
    language: Annotated[
        Literal["en", "zh"] | None,
        typer.Option("--language", help="Use only reports in this language; by default that of most reports."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Decides which reports are used first.")] = 0,
    count: Annotated[int, typer.Option("--count", metavar="N", min=1, help="Records of each task.")] = COUNT,
) -> None:
    """Make CRUD data sets from a folder of reports: continuation, questions, hallucinations, summaries.

    Writes crud.json, its documents and a grid over them; prints what was dropped, by reason.
    """
    if not folder.exists():
        raise UserError(f"{folder}: no such file or folder")
    from r_eval.analysis import metrics

    where = out or Path(f"crud-{folder.resolve().stem}")

    async def make() -> CrudSet:
        with reply_cache(where.name) as replies:
            async with LLMClient(llm, replies, {"max_tokens": REPLY_TOKENS}) as writer:
                return await build(read_documents(str(folder)), writer, metrics.get("token_f1"), language, count, seed)

    made = asyncio.run(make())
    numbers = {key: len(records) for key, records in made.records.items()}
    sys.stdout.write(f"{len(made.reports)} reports: {', '.join(f'{n} {key}' for key, n in numbers.items())}\n")
    sys.stdout.writelines(f"dropped: {number} {reason}\n" for reason, number in made.dropped.items())
    if not any(numbers.values()):
        raise UserError(f"{folder}: {llm} made no record that the filters keep; nothing was written")
    sys.stdout.writelines(f"{path}\n" for path in write(made, where, llm))

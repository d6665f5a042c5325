"""`r-eval data extract-triples`: facts from documents, for graph questions."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from r_eval.environments.corpus.sources import read_documents
from r_eval.errors import UserError
from r_eval.tasks.graphs.extract import REPLY_TOKENS, Extracted, extract
from r_eval.tasks.graphs.matching import NameList, default_model, read_names
from r_eval.tasks.graphs.source import read_triples, write_triples
from r_eval.tasks.llm_client import LLMClient, reply_cache


def extract_triples(
    documents: Annotated[Path, typer.Argument(metavar="DOCUMENTS", help="A .txt or .jsonl file, or a folder.")],
    llm: Annotated[str, typer.Option("--llm", metavar="LLM", help="Reads the documents.")],
    out: Annotated[Path, typer.Option("--out", metavar="TRIPLES.tsv", help="The file to write.")],
    known: Annotated[
        Path | None, typer.Option("--known", metavar="TRIPLES.tsv", help="Skip facts that are in this file.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(
            "--names", metavar="NAMES.txt", help="Entity names, one per line, with other spellings after tabs."
        ),
    ] = None,
    embedding: Annotated[
        str | None,
        typer.Option(
            "--embedding", metavar="MODEL", help="Finds names to match; by default the embedded model, if installed."
        ),
    ] = None,
) -> None:
    """Extract triples from documents with an LLM.

    With --names or --known, the LLM decides which listed name each extracted one stands for. generate makes questions
    from the triples with a graph file.
    """
    if not documents.exists():
        raise UserError(f"{documents}: no such file or folder")
    facts = [row.triple for row in read_triples(known)] if known is not None else []
    model = embedding or default_model()
    entities = {name for subject, _, object_ in facts for name in (subject, object_)}
    listed = NameList(((name,) for name in sorted(entities)), model) if facts else None
    if names is not None:
        listed = read_names(names, model)
    relations = NameList(((name,) for name in sorted({r for _, r, _ in facts})), model) if facts else None

    async def read() -> Extracted:
        with reply_cache(out.stem) as replies:
            async with LLMClient(llm, replies, {"max_tokens": REPLY_TOKENS}) as client:
                return await extract(read_documents(str(documents)), client, listed, relations, facts)

    found = asyncio.run(read())
    dropped = ", ".join(f"{number} {reason}" for reason, number in found.dropped.items()) or "none"
    if not found.rows:
        raise UserError(f"{documents}: {llm} extracted no triple; dropped: {dropped}")
    write_triples(out, found.rows)
    sys.stdout.write(f"{out}: {len(found.rows)} triples; dropped: {dropped}\n")

"""Commands about graphs: extract-triples, and what `generate` does with a graph file."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r_eval.errors import UserError

if TYPE_CHECKING:
    from r_eval.environments.base import Environment
    from r_eval.environments.sandbox import Sandbox
    from r_eval.tasks.graphs.names import Names
    from r_eval.tasks.graphs.store import Triple
    from r_eval.tasks.templates import Generated

Maker = Callable[["Sandbox", int, int], Coroutine[Any, Any, "Generated"]]
"""Makes questions: sandbox, count, seed."""


def open_graph(path: Path, environment: str | None) -> tuple[str, Environment, Maker]:
    """A graph file's environment with its name ("" of a file of triples), and what makes its questions.

    Args:
        environment: In place of the file's own.

    Raises:
        UserError: The file is wrong, or its environment offers no triples.
    """
    from r_eval.analysis import metrics
    from r_eval.tasks.graphs.file import read_graph_file
    from r_eval.tasks.graphs.generate import generate
    from r_eval.tasks.graphs.source import source_of
    from r_eval.tasks.speaking import replies_kept

    file = read_graph_file(path)
    if file.triples is not None and environment is not None:
        raise UserError(f"{path}: its questions come from a file of triples; --environment cannot replace that")
    name, source = source_of(file, path.parent, environment)

    async def made(sandbox: Sandbox, count: int, seed: int) -> Generated:
        with replies_kept(path.stem) if file.graph.llms else contextlib.nullcontext() as memory:
            return await generate(file, source, sandbox, count, seed, metrics.get("token_f1"), memory)

    return name, source.environment, made


def extract_command(documents: Path, llm: str, out: Path, known: Path | None, names: Path | None) -> int:
    """Read triples out of documents, write them, and say what was dropped and why."""
    from r_eval.tasks.graphs.documents import read_documents
    from r_eval.tasks.graphs.extract import REPLY_TOKENS, Extracted, extract
    from r_eval.tasks.graphs.tables import read_triples, write_triples
    from r_eval.tasks.speaking import Speaker, replies_kept

    facts = [row.triple for row in read_triples(known)] if known is not None else []
    listed, relations = _lists(names, facts)

    async def read() -> Extracted:
        with replies_kept(out.stem) as memory:
            async with Speaker(llm, memory, {"max_tokens": REPLY_TOKENS}) as speaker:
                return await extract(read_documents(documents), speaker, listed, relations, facts)

    found = asyncio.run(read())
    dropped = ", ".join(f"{number} {reason}" for reason, number in found.dropped.items()) or "none"
    if not found.rows:
        raise UserError(f"{documents}: no triple came of it; dropped: {dropped}")
    write_triples(out, found.rows)
    sys.stdout.write(f"{out}: {len(found.rows)} triples; dropped: {dropped}\n")
    return 0


def _lists(names: Path | None, facts: list[Triple]) -> tuple[Names | None, Names | None]:
    """The reference lists of entities and relations: a file's, else those of what is known."""
    from r_eval.tasks.graphs.names import Names, read_names

    entities = sorted({name for subject, _, object in facts for name in (subject, object)})
    relations = sorted({relation for _, relation, _ in facts})
    listed = read_names(names) if names is not None else Names((name,) for name in entities) if facts else None
    return listed, Names((name,) for name in relations) if facts else None

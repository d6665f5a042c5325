"""Gold programs of graph questions, put together from the graph file's own one, which follows one relation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from r_eval.tasks.graphs.asking import Asking, Hop, Path
from r_eval.tasks.graphs.file import Words


def program_of(asking: Asking, program: str, words: Mapping[str, Words]) -> str | None:
    """The program that answers; None where a relation has no phrase for it."""
    parts = [_path(path, program, words) for path in asking.paths]
    if any(part is None for part in parts):
        return None
    known = [part for part in parts if part is not None]
    if len(known) == 1:
        return known[0]
    first, second = (f"{part}{name} = answer\n" for part, name in zip(known, ("first", "second"), strict=True))
    if asking.subgraph.type == "conditional":
        return f"{first}{second}answer = [value for value in first if value in second]\n"
    one, two = (repr(name) for name in asking.named)
    sign = ">" if asking.larger else "<"
    numbers = [f'float(str({name}[0]).replace(",", "").replace("−", "-"))' for name in ("first", "second")]
    return f"{first}{second}answer = {one} if {numbers[0]} {sign} {numbers[1]} else {two}\n"


def _path(path: Path, program: str, words: Mapping[str, Words]) -> str | None:
    """Lines that leave the ends of a path in `answer`."""
    lines = ""
    for at, hop in enumerate(path.hops):
        phrase = _phrase(hop, words)
        if phrase is None:
            return None
        if at == 0:
            lines = _filled(program, repr(path.start), phrase)
            continue
        step = textwrap.indent(_filled(program, "bridge", phrase), "    ")
        lines += f"bridges, found = answer, []\nfor bridge in bridges:\n{step}"
        lines += "    found = found + [value for value in answer if value not in found]\nanswer = found\n"
    return lines


def _phrase(hop: Hop, words: Mapping[str, Words]) -> str | None:
    own = words.get(hop.relation)
    if own is None:
        return None
    return own.program.forward if hop.forward else own.program.backward


def _filled(program: str, entity: str, phrase: str) -> str:
    """The entity last: a name that holds "{phrase}" stays as it is."""
    return program.replace("{phrase}", phrase).replace("{entity}", entity).strip() + "\n"

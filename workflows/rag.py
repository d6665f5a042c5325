"""RAG with planned retrieval (Lewis et al., 2020): retrieve first, then answer in one reply.

The query is the question, or the query that comes with it. One query API, the environment's search, answers it. If it
finds nothing but suggests similar names (`Similar: [A, B]`, as a wiki's does), it is called for these names.

With `retrieval: gold` the question's own evidence replaces the results: perfect retrieval, an upper bound for any
retriever with this LLM. Such a system is a reference and is not ranked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import CHARACTERS_A_TOKEN, cut
from r_eval.errors import UserError
from r_eval.records import Question
from r_eval.workflows.base import (
    Limits,
    LLMProtocol,
    SessionProtocol,
    TaskInput,
    Workflow,
    WorkflowResult,
    ended,
    positive_int,
)
from r_eval.workflows.direct import answer_once

LENGTHS = ("top_k", "k", "limit", "max_results")
"""Parameters of a search that say how many results are wanted."""
SIMILAR = re.compile(r"Similar: \[(.{1,2000})\]", re.DOTALL)


class RAG(Workflow):
    """Retrieve, then read.

    Args:
        top_k: Number of results in the prompt.
        retrieval: "search", or "gold" for the question's own evidence.
    """

    last_chance, retrieves = False, True
    PROMPTS = ("rag", "rag_question")

    def __init__(self, top_k: int = 3, retrieval: str = "search") -> None:
        if retrieval not in ("search", "gold"):
            raise ValueError(f"retrieval must be search or gold, not {retrieval!r}")
        self.top_k, self.retrieval = positive_int("top_k", top_k), retrieval
        self.uses_gold = retrieval == "gold"
        self.uses_tools = not self.uses_gold

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        if question.solution is not None:
            texts = await gold_passages(question.solution, session)
            if not texts:
                return ended("gave_up", "no_evidence", "the question has no program, evidence or context")
            llm.note("The question's own evidence replaces the search results.")
        else:
            texts = await self._retrieve(question.query or question.text, session)
        characters = limits.observation * CHARACTERS_A_TOKEN
        passages = "\n\n".join(f"[{i}] {cut(text, characters)}" for i, text in enumerate(texts, 1))
        system = RAG.prompt("rag", domain=session.description, instruction=question.instruction)
        user = RAG.prompt("rag_question", passages=passages or "Nothing was found.", question=question.text)
        return await answer_once(question, system, question.with_documents(user), llm)

    async def _retrieve(self, query: str, session: SessionProtocol) -> list[str]:
        """The results of the search, best first; if there are none, those for the similar names that it suggests."""
        spec = search_api(session.specs)
        sizes = {p.name: self.top_k for p in spec.parameters if p.name in LENGTHS and p.schema.get("type") == "integer"}
        parameter = text_parameter(spec) or next((p.name for p in spec.parameters), "query")
        results = [await session.call(spec.name, {**sizes, parameter: query})]
        similar = SIMILAR.search(results[0].observation)
        if results[0].error == "not_found" and similar:
            names = similar.group(1).split(", ")[: self.top_k]
            results = [await session.call(spec.name, {**sizes, parameter: name}) for name in names]
        texts: list[str] = []
        for result in results:
            if result.error is None:
                texts += map(_passage, result.value) if isinstance(result.value, list) else [result.observation]
        return list(dict.fromkeys(texts))[: self.top_k]


async def gold_passages(question: Question, session: SessionProtocol) -> list[str]:
    """The results of a perfect retriever: the texts that the question was made from (`meta.sources`), if known.
    Otherwise the return values of the gold program's calls, the context documents that contain evidence (all documents
    if there is neither program nor evidence) and evidence that is in none of these.
    """
    sources = question.meta.get("sources")
    if isinstance(sources, list) and (originals := [text for text in sources if isinstance(text, str) and text]):
        return list(dict.fromkeys(originals))
    texts: list[str] = []
    if question.program:
        result = await session.run_program(question.program)
        values = (value if isinstance(value, list) else [value] for value in result.returned)
        texts = ["\n".join(map(_passage, value)) for value in values]
    everything = not (texts or question.evidence)
    for document in question.context:
        if everything or any(evidence in document.text for evidence in question.evidence):
            texts.append(f"{document.title}\n{document.text}")
    texts += [evidence for evidence in question.evidence if not any(evidence in text for text in texts)]
    return list(dict.fromkeys(filter(None, texts)))


def search_api(specs: Mapping[str, ApiSpec]) -> ApiSpec:
    """The search API: `retrieve`, else the first whose only required argument is a string, else the first.

    Raises:
        UserError: The environment has no API.
    """
    if not specs:
        raise UserError("rag: the environment has no query API to search with")
    first = next((spec for spec in specs.values() if text_parameter(spec) is not None), None)
    return specs.get("retrieve") or first or next(iter(specs.values()))


def text_parameter(spec: ApiSpec) -> str | None:
    """The parameter for the query, if an API requires one string and nothing else; otherwise None."""
    required = [p for p in spec.parameters if p.required]
    return required[0].name if len(required) == 1 and required[0].schema.get("type") == "string" else None


def _passage(item: Any) -> str:
    """One result as text: title and text of a document, JSON for anything else."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and isinstance(item.get("text"), str):
        return "\n".join(text for text in (item.get("title"), item["text"]) if text and isinstance(text, str))
    return json.dumps(item, ensure_ascii=False)

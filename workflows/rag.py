"""RAG with planned retrieval (Lewis et al., 2020): retrieve first, then answer in one reply.

The query is the question, the query that comes with it, or queries that the LLM writes (`rewrite`). One query API, the
environment's search, answers all of them. If a search finds nothing but suggests similar names (`Similar: [A, B]`, as a
wiki's does), it is repeated for these names. The results of several queries are interleaved.

With `retrieval: gold` the question's own evidence replaces the results: perfect retrieval, an upper bound for any
retriever with this LLM. Such a system is a reference and is not ranked.

The prompt is Chinese for a question in Chinese and English otherwise.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any

from r_eval.environments.schema import ApiSpec
from r_eval.environments.session import CHARACTERS_A_TOKEN, cut
from r_eval.errors import UserError
from r_eval.languages import language_of
from r_eval.llms.base import Message, Request
from r_eval.llms.tool_calls import parse_action
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
    prompt,
)
from r_eval.workflows.direct import answer_once

RETRIEVE = "retrieve"
"""A query API of this name is the search, wherever there is one."""
LENGTHS = ("top_k", "k", "limit", "max_results")
"""Parameters of a search that say how many results are wanted."""
QUERIES = 4
NOTHING = {"en": "Nothing was found.", "zh": "没有找到任何段落。"}
SIMILAR = re.compile(r"Similar: \[(.{1,2000})\]", re.DOTALL)
BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


class RAG(Workflow):
    """Retrieve, then read.

    Args:
        api: The search API; default: `retrieve`, else the first whose only required argument is a string, else the
            first. If the API takes anything but one string, a chat model always writes the queries.
        top_k: Number of results in the prompt.
        rewrite: Whether the LLM first rewrites the question as queries, which is one more LLM call.
        retrieval: "search", or "gold" for the question's own evidence.
    """

    last_chance, retrieves = False, True
    PROMPTS = ("rag", "rag_rewrite", "rag_question", "rag_zh", "rag_rewrite_zh", "rag_question_zh")

    def __init__(
        self, api: str | None = None, top_k: int = 3, rewrite: bool = False, retrieval: str = "search"
    ) -> None:
        if retrieval not in ("search", "gold"):
            raise ValueError(f"retrieval must be search or gold, not {retrieval!r}")
        if not isinstance(rewrite, bool):
            raise ValueError(f"rewrite must be true or false, not {rewrite!r}")
        if api is not None and not isinstance(api, str):
            raise ValueError(f"api must be the name of a query API, not {api!r}")
        self.api, self.top_k, self.rewrite, self.retrieval = api, positive_int("top_k", top_k), rewrite, retrieval
        self.uses_gold = retrieval == "gold"
        self.uses_tools = not self.uses_gold

    def most_calls(self, limits: Limits) -> int:
        return 1 if self.uses_gold else 2  # the LLM may have to write the queries

    async def run(
        self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol, limits: Limits
    ) -> WorkflowResult:
        if question.solution is not None:
            texts = await gold_passages(question.solution, session)
            if not texts:
                return ended("gave_up", "no_evidence", "the question has no program, evidence or context")
            llm.note("The question's own evidence replaces the search results.")
        else:
            texts = await self._retrieve(question, session, llm)
        characters, language = limits.observation * CHARACTERS_A_TOKEN, language_of(question.text)
        passages = "\n\n".join(f"[{i}] {cut(text, characters)}" for i, text in enumerate(texts, 1)) or NOTHING[language]
        system = _prompt("rag", question, domain=session.description, instruction=question.instruction)
        user = _prompt("rag_question", question, passages=passages, question=question.text)
        return await answer_once(question, system, question.with_documents(user), llm, language)

    async def _retrieve(self, question: TaskInput, session: SessionProtocol, llm: LLMProtocol) -> list[str]:
        """The results for the question without duplicates, best first."""
        spec = search_api(session.specs, self.api)
        queries: list[Mapping[str, Any]] = []
        if llm.chat and (self.rewrite or text_parameter(spec) is None):
            queries = await _write_queries(question, session, llm, spec)
        queries = queries or [_query(question.query or question.text, spec)]
        results = [await self._search(query, spec, session) for query in queries]
        interleaved = itertools.chain.from_iterable(itertools.zip_longest(*results))
        return list(dict.fromkeys(item for item in interleaved if item is not None))[: self.top_k]

    async def _search(self, query: Mapping[str, Any], spec: ApiSpec, session: SessionProtocol) -> list[str]:
        """The results of one query or, if there are none, of the similar names that it suggests."""
        size = {name: self.top_k for name in LENGTHS if _is(spec, name, "integer")}
        result = await session.call(spec.name, {**size, **query})
        if result.error is None:
            return [_passage(item) for item in result.value] if isinstance(result.value, list) else [result.observation]
        text, similar = text_parameter(spec), SIMILAR.search(result.observation)
        if result.error != "not_found" or text is None or similar is None:
            return []
        names = similar.group(1).split(", ")[: self.top_k]
        results = [await session.call(spec.name, {**size, text: name}) for name in names]
        return [item.observation for item in results if item.error is None]


async def _write_queries(
    question: TaskInput, session: SessionProtocol, llm: LLMProtocol, spec: ApiSpec
) -> list[Mapping[str, Any]]:
    """The queries that the LLM writes for the question: search calls, or texts to search for."""
    arguments = ", ".join(f'{p.name}="..."' for p in spec.parameters if p.name not in LENGTHS)
    form = f"{spec.name}({arguments})"
    values = {"domain": session.description, "action": spec.action(), "form": form, "count": str(QUERIES)}
    system = _prompt("rag_rewrite", question, **values)
    request = Request((Message("system", system), Message("user", question.text)))
    text = (await llm.generate(request)).text
    lines = dict.fromkeys(BULLET.sub("", line).strip() for line in text.splitlines())
    queries: list[Mapping[str, Any]] = []
    for line in itertools.islice((line for line in lines if line and not line.startswith("```")), QUERIES):
        action = parse_action(line, {spec.name: spec})
        is_search = action is not None and action.name == spec.name and action.arguments
        queries.append(action.arguments if action and is_search else _query(line, spec))
    return queries


def _prompt(name: str, question: TaskInput, /, **values: str) -> str:
    """A prompt in the question's language."""
    return prompt(RAG, f"{name}_zh" if language_of(question.text) == "zh" else name, **values)


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


def search_api(specs: Mapping[str, ApiSpec], name: str | None) -> ApiSpec:
    """The search API; see `RAG`.

    Raises:
        UserError: The environment has no such API or no API.
    """
    if name is not None:
        if name not in specs:
            raise UserError(f"rag: the environment has no query API '{name}' (api:); it has: {', '.join(specs)}")
        return specs[name]
    if not specs:
        raise UserError("rag: the environment has no query API to search with")
    first = next((spec for spec in specs.values() if text_parameter(spec) is not None), None)
    return specs.get(RETRIEVE) or first or next(iter(specs.values()))


def text_parameter(spec: ApiSpec) -> str | None:
    """The parameter for the query, if an API requires one string and nothing else; otherwise None."""
    required = [p.name for p in spec.parameters if p.required]
    return required[0] if len(required) == 1 and _is(spec, required[0], "string") else None


def _query(text: str, spec: ApiSpec) -> dict[str, Any]:
    """The arguments of a search for a text, by default the first argument."""
    return {text_parameter(spec) or next((p.name for p in spec.parameters), "query"): text}


def _is(spec: ApiSpec, parameter: str, kind: str) -> bool:
    """Whether an API has a parameter of a JSON type."""
    schema = spec.json_schema()["properties"].get(parameter)
    return isinstance(schema, dict) and schema.get("type") == kind


def _passage(item: Any) -> str:
    """One result as text: title and text of a document, JSON for anything else."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict) and isinstance(item.get("text"), str):
        return "\n".join(text for text in (item.get("title"), item["text"]) if text and isinstance(text, str))
    return json.dumps(item, ensure_ascii=False)

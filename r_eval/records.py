"""The records that every part of R-Eval exchanges: question, step, outcome, episode.

Plain data without behaviour. A record holds everything needed to score an episode again, and nothing derived
from the gold answer is ever among the steps. The schema is public and versioned: a change of meaning raises
`SCHEMA`. On hot paths records are built without validation; whatever is read from a file is validated.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = 1

Level = Literal["KS", "KU", "KA"]
OutcomeKind = Literal["finished", "gave_up", "exhausted", "tool_misuse", "tool_failure", "llm_failure", "cancelled"]
StepKind = Literal["thought", "call", "observation", "answer"]
CallError = Literal[
    "unknown_api", "bad_arguments", "not_found", "temporary", "tool_error", "environment", "repeated", "limit"
]

INFRASTRUCTURE_FAILURES: frozenset[OutcomeKind] = frozenset({"tool_failure", "llm_failure", "cancelled"})
"""Outcomes that are not the system's doing: tried again on resume, and no score until then."""


MOST = 10**15
"""Of anything that is counted; floats hold every whole number up to it, and sums of many."""
Count = Annotated[int, Field(ge=0, le=MOST)]
Amount = Annotated[float, Field(ge=-MOST, le=MOST)]


class Record(BaseModel):
    """Base of all records: unknown keys are refused, so that a typing error in a file is found."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def of(cls, **values: Any) -> Self:
        """A record of values; what is not valid, as a plug-in may leave it, is kept until the record is written."""
        try:
            return cls(**values)
        except ValueError:
            return cls.model_construct(**values)


class Document(Record):
    """A text that comes with a question.

    Attributes:
        title, text: As the model reads them.
    """

    title: str
    text: str


class Question(Record):
    """One item of a task, in the form of a question file's line.

    Attributes:
        id: Unique within its task.
        question: The text that is asked.
        answers: The gold answers; any one of them is right. An item that holds several values joins them by ";".
        level: The paper's level: knowledge seeking, understanding or application.
        program: Gold program over the query APIs; it leaves its result in `answer`.
        evidence: Texts that the observations must hold, all of them, for the question to count as supported.
        context: Documents that come with the question.
        entities: Values that a counterfactual condition may replace.
        query: The retriever's query, where it differs from the question.
        meta: Anything else that is known, such as the template it was made from; `text_ids` are the ids of the
            documents that a retriever should find.
    """

    id: str
    question: str
    answers: list[str] = Field(min_length=1)
    level: Level
    program: str | None = None
    evidence: list[str] = Field(default_factory=list)
    context: list[Document] = Field(default_factory=list)
    entities: list[str] = Field(default_factory=list)
    query: str = Field(default="", exclude_if=operator.not_)
    meta: dict[str, Any] = Field(default_factory=dict)


class Tokens(Record):
    """Tokens of one LLM call.

    Attributes:
        prompt, completion: As the server counted them, else estimated.
        cached: Those of the prompt that the server did not compute again.
    """

    prompt: Count = 0
    completion: Count = 0
    cached: Count = 0


class SentMessage(Record):
    """One message as it was sent to the LLM.

    Attributes:
        role, content: `system`, `user`, `assistant` or `tool`, and the text.
        calls: An assistant's tool calls: id, name, arguments.
        call_id, name: Of the call that a tool message answers.
    """

    role: str
    content: str
    calls: list[dict[str, Any]] = Field(default_factory=list, exclude_if=operator.not_)
    call_id: str = Field(default="", exclude_if=operator.not_)
    name: str = Field(default="", exclude_if=operator.not_)


class Step(Record):
    """One event of an episode, in the order in which it happened.

    A `thought` is an LLM's reply as it came. A `call` is a query API call with what came of it. An
    `observation` is what the workflow itself said to the LLM (for example that an action could not be read); it is
    never evidence. An `answer` is how the final answer was read out of a reply.

    Attributes:
        kind: A reply, a call, a message of the workflow, or how the answer was read.
        text: The reply, the message or the answer.
        api, arguments: Of a call, as the model gave them.
        observation: What the environment returned, as the model saw it.
        cut: Of a call, whether the observation was shortened.
        retrieved_ids: Of a call of a search, the ids of the passages that it found, the best first.
        error: Of a call, its kind; of an answer that could not be read, "unparsed"; of a thought, why the reply is not
            a whole one: "length" (cut at max_tokens), "content_filter", "refusal" or "empty"; or "invented": it went on
            with an observation of its own, which was cut off.
        request: Of a thought, the messages that it answers, by their places in `Episode.messages`.
        reasoning: Of a thought, hidden thinking that is no part of the reply.
        seconds: Duration of the LLM's reply or of the call.
        tokens: Of a thought.
        depth: Place in the search tree, for workflows that search; 0 is the root.
        replayed: Of a thought, whether the reply came from the reply store; its seconds are those it took when it was
            made.
    """

    kind: StepKind
    text: str = ""
    api: str | None = None
    arguments: dict[str, Any] | None = None
    observation: str | None = None
    cut: bool = Field(default=False, exclude_if=operator.not_)
    retrieved_ids: list[str] = Field(default_factory=list, exclude_if=operator.not_)
    error: str | None = None
    request: list[Count] = Field(default_factory=list, exclude_if=operator.not_)
    reasoning: str = ""
    seconds: Amount = 0.0
    tokens: Tokens | None = None
    depth: Count | None = None
    replayed: bool = Field(default=False, exclude_if=operator.not_)


class Outcome(Record):
    """How an episode ended, recorded when it happened.

    Attributes:
        kind: See DESIGN, "Outcome, and the six response types".
        cause: A short machine-readable word below the kind, such as "steps", "context" or "syntax".
        detail: One sentence for a person.
        traceback: Of an exception in a plug-in's code, from where that code begins.
    """

    kind: OutcomeKind
    cause: str = ""
    detail: str = ""
    traceback: str = Field(default="", exclude_if=operator.not_)


class Usage(Record):
    """What an episode used.

    Attributes:
        calls: LLM calls.
        prompt_tokens, completion_tokens, cached_tokens: Of all calls; see `Tokens`.
        retries: Further attempts at calls.
        estimated: Whether the tokens of a reply were estimated.
        cost: USD; null where no price is known, never 0 for unknown.
    """

    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cached_tokens: Count = 0
    retries: Count = 0
    estimated: bool = False
    cost: Amount | None = None


class Seconds(Record):
    """Wall time of an episode.

    Attributes:
        total: From the first step to the last.
        llm: Inside LLM calls, `queue` and `retry` among it.
        environment: Inside query APIs.
        queue: Waiting for a turn at the LLM, where that is known.
        retry: Lost in failed attempts at the LLM and in the waits after them.
    """

    total: Amount = 0.0
    llm: Amount = 0.0
    environment: Amount = 0.0
    queue: Amount = 0.0
    retry: Amount = 0.0

    @property
    def own(self) -> float:
        """What the system itself takes, without waits: `total` less `queue` and `retry`."""
        return max(0.0, self.total - self.queue - self.retry)


class Episode(Record):
    """One system's attempt at one question under one condition.

    Attributes:
        schema_: Version of this schema.
        episode_id: Hash of system, task, condition, question and epoch: the same in every run of the same grid.
        question_id, question: The question.
        task, domain, level: Where it comes from.
        workflow, llm: The system's two halves by the names that the grid gives them.
        condition, epoch: `clean` is the unchanged environment; epochs count from 0.
        outcome: How it ended.
        steps: What happened, in order.
        usage, seconds: What it used.
        golds: The gold answers, kept for scoring; no workflow ever sees them.
        answer: The model's own text, "" where there is none.
        evidence: The question's named evidence, kept for the response types.
        messages: What was sent to the LLM, each message once, in the order in which they were first sent.
        fingerprint: Hash of what decides the episode besides the LLM's replies; see `run.json`.
        checksum: Of a line in a run's folder: CRC-32 of the bytes of the line before it, in hexadecimal.
    """

    schema_: int = Field(SCHEMA, alias="schema")
    episode_id: str
    question_id: str
    task: str
    domain: str
    level: Level
    workflow: str
    llm: str
    condition: str
    epoch: Count = 0
    question: str
    golds: list[str]
    evidence: list[str] = Field(default_factory=list)
    answer: str
    outcome: Outcome
    messages: list[SentMessage] = Field(default_factory=list)
    steps: list[Step] = Field(default_factory=list)
    usage: Usage = Field(default_factory=Usage)
    seconds: Seconds = Field(default_factory=Seconds)
    fingerprint: str = ""
    checksum: str = Field(default="", exclude_if=operator.not_)

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    @property
    def system(self) -> str:
        """Name of the workflow x LLM pair."""
        return f"{self.workflow}+{self.llm}"

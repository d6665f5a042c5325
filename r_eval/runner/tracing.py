"""OpenTelemetry spans of a run, its episodes, their LLM calls and their tool calls.

On where OTEL_EXPORTER_OTLP_ENDPOINT (or ..._TRACES_ENDPOINT) is set, with the extra `otel`; nothing is imported
elsewhere. Names follow OpenTelemetry's semantic conventions for generative AI. Questions, replies, arguments and
observations are only told where OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is "true".

The spans of an episode are made from its record when it is over, so they are the same whichever machine it ran on, and
cost its calls no time. Durations are those of the record; the calls are laid one after the other. Each episode is a
trace of its own, linked to the run's span: a run of a million episodes is no single trace.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from r_eval import __version__
from r_eval.folder import Cell
from r_eval.llms.base import LLM
from r_eval.llms.replay import LLMUsage
from r_eval.records import INFRASTRUCTURE_FAILURES, Episode, Step
from r_eval.runner.plan import Plan
from r_eval.runner.watching import Watcher

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.trace import Span

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
QUEUE = 16384
"""Spans that may wait to be sent; more are dropped, so that a slow collector holds no episode up."""
LONGEST_NAME = 100

logger = logging.getLogger("r_eval")


@contextlib.contextmanager
def traced(watcher: Watcher) -> Iterator[Watcher]:
    """A watcher that sends spans as well, where that is wanted; else the same one."""
    if not any(os.environ.get(name) for name in ENDPOINTS):
        yield watcher
        return
    try:
        provider, exporter = _provider()
    except ImportError:
        logger.warning("no spans are sent: type  pip install 'r-eval[otel]'  or unset OTEL_EXPORTER_OTLP_ENDPOINT")
        yield watcher
        return
    tracing = Tracing(watcher, provider)
    with _silenced():
        try:
            yield tracing
        finally:
            tracing.end()
            exporter.closing = True
            provider.shutdown()


class Exporter:
    """Sends spans by another one; says once that they are not taken, and keeps no run's end waiting for that then."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self._lost = False
        self.closing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        from opentelemetry.sdk.trace.export import SpanExportResult

        if self._lost and self.closing:
            return SpanExportResult.FAILURE
        result = self._inner.export(spans)
        if result is not SpanExportResult.SUCCESS and not self._lost:
            self._lost = True
            logger.warning("spans are lost: the collector at the OTLP endpoint does not take them")
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return bool(self._inner.force_flush(timeout_millis))


def _provider() -> tuple[TracerProvider, Exporter]:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    own = {"service.name": "r-eval", "service.version": __version__}
    given = OTELResourceDetector().detect().attributes
    provider = TracerProvider(resource=Resource.create({k: v for k, v in own.items() if k not in given}))
    size = None if "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ else QUEUE
    exporter = Exporter(OTLPSpanExporter())
    provider.add_span_processor(BatchSpanProcessor(cast("SpanExporter", exporter), max_queue_size=size))
    return provider, exporter


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Keep the SDK's own complaints, one a lost batch, off the terminal."""
    its = logging.getLogger("opentelemetry")
    level = its.level
    its.setLevel(level or logging.CRITICAL + 1)
    try:
        yield
    finally:
        its.setLevel(level)


class Tracing:
    """Tells another watcher everything, and makes spans of it."""

    def __init__(self, watcher: Watcher, provider: TracerProvider) -> None:
        self._watcher = watcher
        self._tracer = provider.get_tracer("r_eval", __version__)
        self._content = os.environ.get(CAPTURE, "").strip().lower() == "true"
        self._llms: Mapping[str, LLM] = {}
        self._run: Span | None = None
        self._name = ""

    def started(self, plan: Plan, done: dict[Cell, int], spent: Mapping[str, LLMUsage]) -> None:
        self._watcher.started(plan, done, spent)
        self._llms, self._name = plan.llms, plan.grid.name
        about = {"r_eval.run": self._name, "r_eval.seed": plan.grid.seed, "r_eval.episodes": plan.episodes()}
        self._run = self._tracer.start_span(f"r-eval run {self._name}", attributes=about)

    def loading(self, llm: str) -> None:
        self._watcher.loading(llm)

    def failed(self, llm: str, why: str) -> None:
        self._watcher.failed(llm, why)
        self._event("r_eval.llm_failed", {"r_eval.llm": llm})

    def held(self, why: str) -> None:
        self._watcher.held(why)
        self._event("r_eval.budget_reached", {"r_eval.budget": why})

    def finished(self, episode: Episode) -> None:
        self._watcher.finished(episode)
        if self._run is None:
            return
        from opentelemetry.trace import Link, set_span_in_context
        from opentelemetry.trace.status import Status, StatusCode

        end = time.time_ns()
        moment = end - int(episode.seconds.total * 1e9)
        span = self._tracer.start_span(
            f"invoke_agent {episode.workflow}",
            attributes=_known(self._of_episode(episode)),
            links=[Link(self._run.get_span_context())],
            start_time=moment,
        )
        if episode.outcome.kind in INFRASTRUCTURE_FAILURES:
            span.set_status(Status(StatusCode.ERROR, episode.outcome.cause))
        within = set_span_in_context(span)
        for step in episode.steps:
            if step.kind not in ("thought", "call"):
                continue
            until = min(moment + int(step.seconds * 1e9), end)
            self._step(episode, step, within, moment, until)
            moment = until
        span.end(end)

    def end(self) -> None:
        """The run is over."""
        if self._run is not None:
            self._run.end()

    def _event(self, name: str, attributes: dict[str, Any]) -> None:
        if self._run is not None:
            self._run.add_event(name, attributes)

    def _step(self, episode: Episode, step: Step, within: Any, start: int, end: int) -> None:
        """The span of a call of the LLM or of a tool."""
        from opentelemetry.trace import SpanKind

        if step.kind == "thought":
            model = self._of_llm(episode.llm).get("gen_ai.request.model", "")
            name, kind, about = f"chat {model}", SpanKind.CLIENT, self._of_thought(episode, step)
        else:
            about = self._of_call(step)
            name, kind = f"execute_tool {about['gen_ai.tool.name']}", SpanKind.INTERNAL
        self._tracer.start_span(_whole(name), within, kind, _known(about), start_time=start).end(end)

    def _of_llm(self, name: str) -> dict[str, Any]:
        llm = self._llms.get(name)
        if llm is None:
            return {}
        provider, _, model = llm.spec.partition("/")
        return {"gen_ai.provider.name": provider, "gen_ai.request.model": model}

    def _of_episode(self, episode: Episode) -> dict[str, Any]:
        usage, failed = episode.usage, episode.outcome.kind in INFRASTRUCTURE_FAILURES
        about = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": episode.workflow,
            "gen_ai.conversation.id": episode.episode_id,
            **self._of_llm(episode.llm),
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "error.type": episode.outcome.kind if failed else None,
            "r_eval.run": self._name,
            "r_eval.llm": episode.llm,
            "r_eval.task": episode.task,
            "r_eval.condition": episode.condition,
            "r_eval.question_id": episode.question_id,
            "r_eval.epoch": episode.epoch,
            "r_eval.outcome": episode.outcome.kind,
            "r_eval.cause": episode.outcome.cause,
            "r_eval.cost_usd": usage.cost,
        }
        if self._content:
            about["gen_ai.input.messages"] = _message("user", episode.question)
            about["gen_ai.output.messages"] = _message("assistant", episode.answer, finish="stop")
        return about

    def _of_thought(self, episode: Episode, step: Step) -> dict[str, Any]:
        llm, tokens = self._llms.get(episode.llm), step.tokens
        about = {
            "gen_ai.operation.name": "chat",
            **self._of_llm(episode.llm),
            "gen_ai.conversation.id": episode.episode_id,
            "gen_ai.request.temperature": llm.temperature if llm else None,
            "gen_ai.usage.input_tokens": tokens.prompt if tokens else None,
            "gen_ai.usage.output_tokens": tokens.completion if tokens else None,
            "gen_ai.usage.cache_read.input_tokens": tokens.cached if tokens else None,
            "gen_ai.response.finish_reasons": [step.error] if step.error in ("length", "content_filter") else None,
        }
        if self._content:
            about["gen_ai.output.messages"] = _message("assistant", step.text, step.reasoning, step.error or "stop")
        return about

    def _of_call(self, step: Step) -> dict[str, Any]:
        told = self._content or step.error != "unknown_api"  # else the name is whatever the model wrote
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": (step.api or "")[:LONGEST_NAME] if told else "unknown",
            "gen_ai.tool.type": "function",
            "error.type": step.error,
        }
        if self._content:
            about["gen_ai.tool.call.arguments"] = json.dumps(step.arguments or {})
            about["gen_ai.tool.call.result"] = json.dumps(step.observation or "")
        return about


def _message(role: str, text: str, reasoning: str = "", finish: str = "") -> str:
    """A list of one message in the form of the conventions, as JSON."""
    parts = [{"type": "reasoning", "content": reasoning}] if reasoning else []
    parts.append({"type": "text", "content": text})
    return json.dumps([{"role": role, "parts": parts, **({"finish_reason": finish} if finish else {})}])


def _known(attributes: dict[str, Any]) -> dict[str, Any]:
    """What is known of a span."""
    whole = ((key, _whole(value) if isinstance(value, str) else value) for key, value in attributes.items())
    return {key: value for key, value in whole if value is not None}


def _whole(text: str) -> str:
    """A text that can be sent: half a surrogate pair, which some models write, becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")

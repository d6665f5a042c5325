"""Spans, as a real OTLP collector over loopback HTTP gets them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from r_eval import Grid, run
from tests.serving import serving
from tests.timing import slowness

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is not installed")

LLM = """
def reply(request):
    said = request.messages[-1].content
    if "Observation" in said:
        return "Action 2: Finish[SECRET ANSWER]"
    return "Thought 1: SECRET THOUGHT" + chr(10) + "Action 1: searchPerson(name='SECRET NAME')"

def odd(request):
    if "Observation" in request.messages[-1].content:
        return "Action 2: Finish[x]"
    return "Action 1: SECRETAPI(name='x" + chr(0xd800) + "')"

def failing(request):
    from r_eval.llms.base import LLMError
    raise LLMError("server", "SECRET TROUBLE")
"""
KEY = "sk-collector-key-0123456789"


class Collector:
    """What was sent, span by span."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.resource: dict[str, Any] = {}
        self.bodies = b""
        self.headers: list[str] = []
        self.address = ""

    async def take(self, request: web.Request) -> web.Response:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        body = await request.read()
        self.bodies += body
        self.headers.append(request.headers.get("authorization", ""))
        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource = plain(of_resource.resource.attributes)
            for scope in of_resource.scope_spans:
                self.spans += [as_dict(span) for span in scope.spans]
        return web.Response()

    def named(self, start: str) -> list[dict[str, Any]]:
        return [span for span in self.spans if span["name"].startswith(start)]


def plain(attributes: Any) -> dict[str, Any]:
    found = {}
    for attribute in attributes:
        kind = attribute.value.WhichOneof("value")
        value = getattr(attribute.value, kind)
        found[attribute.key] = [v.string_value for v in value.values] if kind == "array_value" else value
    return found


def as_dict(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "id": span.span_id,
        "trace": span.trace_id,
        "parent": span.parent_span_id,
        "links": [link.span_id for link in span.links],
        "kind": span.kind,
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "status": (span.status.code, span.status.message),
        "events": [event.name for event in span.events],
        **plain(span.attributes),
    }


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    found = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", found.take)
    with serving(app) as found.address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization=Bearer%20{KEY}")
        yield found


def grid(folder: Path, function: str = "reply", **more: Any) -> Grid:
    (folder / "llm.py").write_text(LLM, encoding="utf-8")
    one = {"llm": f"scripted/./llm.py:{function}", "name": "one", "price": {"prompt": 1, "completion": 1}}
    keys = {"llms": [one], "workflows": ["react"], "tasks": ["aminer/soay-easy"], "samples": 3, "shots": 0}
    return Grid(**{**keys, **more}, folder=folder)


def test_a_run_its_episodes_and_their_calls_are_spans(collector: Collector, tmp_path: Path) -> None:
    run(grid(tmp_path), tmp_path / "out")
    assert len(collector.spans) == 1 + 3 * (1 + 2 + 1)
    [whole] = collector.named("r-eval run grid")
    episodes = collector.named("invoke_agent react")
    assert [e["links"] for e in episodes] == [[whole["id"]]] * 3
    assert len({e["trace"] for e in episodes}) == 3
    for episode in episodes:
        inner = [span for span in collector.spans if span["parent"] == episode["id"]]
        inner.sort(key=lambda span: span["start"])
        assert [s["name"] for s in inner] == ["chat ./llm.py:reply", "execute_tool searchPerson", "chat ./llm.py:reply"]
        assert {s["trace"] for s in inner} == {episode["trace"]}
        assert all(episode["start"] <= s["start"] <= s["end"] <= episode["end"] for s in inner)
        assert whole["start"] <= episode["end"] <= whole["end"]
    assert collector.resource["service.name"] == "r-eval"


def test_attributes_follow_the_conventions(collector: Collector, tmp_path: Path) -> None:
    result = run(grid(tmp_path, samples=1), tmp_path / "out")
    [recorded] = result.episodes()
    [episode] = collector.named("invoke_agent")
    chat, tool = collector.named("chat")[0], collector.named("execute_tool")[0]
    thought = recorded.steps[0]
    assert thought.tokens is not None
    assert (
        chat.items()
        >= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "scripted",
            "gen_ai.request.model": "./llm.py:reply",
            "gen_ai.request.temperature": 0.0,
            "gen_ai.usage.input_tokens": thought.tokens.prompt,
            "gen_ai.usage.output_tokens": thought.tokens.completion,
            "kind": 3,
        }.items()
    )
    assert (tool["gen_ai.operation.name"], tool["gen_ai.tool.name"]) == ("execute_tool", "searchPerson")
    assert "error.type" not in tool
    assert (
        episode.items()
        >= {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "react",
            "gen_ai.conversation.id": recorded.episode_id,
            "gen_ai.usage.input_tokens": recorded.usage.prompt_tokens,
            "r_eval.outcome": "finished",
            "r_eval.cost_usd": recorded.usage.cost,
            "r_eval.task": "aminer/soay-easy",
        }.items()
    )


def test_no_text_and_no_key_is_told_unasked(collector: Collector, tmp_path: Path) -> None:
    result = run(grid(tmp_path), tmp_path / "out")
    question = next(result.episodes()).question
    assert collector.headers
    assert set(collector.headers) == {f"Bearer {KEY}"}
    assert b"SECRET" not in collector.bodies
    assert question.encode() not in collector.bodies
    assert KEY.encode() not in collector.bodies


def test_texts_are_told_where_it_is_asked_for(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    result = run(grid(tmp_path, samples=1), tmp_path / "out")
    [episode] = collector.named("invoke_agent")
    question = {"type": "text", "content": next(result.episodes()).question}
    assert json.loads(episode["gen_ai.input.messages"]) == [{"role": "user", "parts": [question]}]
    assert "SECRET ANSWER" in episode["gen_ai.output.messages"]
    assert "SECRET THOUGHT" in collector.named("chat")[0]["gen_ai.output.messages"]
    assert collector.named("execute_tool")[0]["gen_ai.tool.call.arguments"] == '{"name": "SECRET NAME"}'


def test_a_tool_that_a_model_made_up_is_not_named(collector: Collector, tmp_path: Path) -> None:
    run(grid(tmp_path, "odd"), tmp_path / "out")
    assert b"SECRET" not in collector.bodies
    assert {(s["gen_ai.tool.name"], s["error.type"]) for s in collector.named("exec")} == {("unknown", "unknown_api")}
    assert len(collector.named("invoke_agent")) == 3


def test_half_a_surrogate_pair_spoils_no_batch(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    run(grid(tmp_path, "odd"), tmp_path / "out")
    assert len(collector.named("invoke_agent")) == 3


def test_a_failure_of_the_machinery_is_an_error(collector: Collector, tmp_path: Path) -> None:
    run(grid(tmp_path, "failing", samples=1), tmp_path / "out")
    [episode] = collector.named("invoke_agent")
    assert (episode["status"], episode["error.type"]) == ((2, "server"), "llm_failure")


def test_a_reached_budget_is_an_event_of_the_run(collector: Collector, tmp_path: Path) -> None:
    run(grid(tmp_path, budget={"tokens": 1}), tmp_path / "out", connections=1)
    assert collector.named("r-eval run")[0]["events"] == ["r_eval.budget_reached"]


def test_a_service_name_of_ones_own_stays(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    run(grid(tmp_path), tmp_path / "out")
    assert collector.resource["service.name"] == "mine"


def test_a_collector_that_is_down_costs_one_line_and_little_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    started = time.monotonic()
    with caplog.at_level(logging.WARNING):
        assert run(grid(tmp_path), tmp_path / "out").state == "complete"
    assert time.monotonic() - started < 15 * slowness()
    assert [r.getMessage() for r in caplog.records if r.name == "r_eval"] == [
        "spans are lost: the collector at the OTLP endpoint does not take them"
    ]


def test_without_an_endpoint_nothing_is_imported(tmp_path: Path) -> None:
    grid(tmp_path)
    code = """
import sys
from pathlib import Path
from r_eval import Grid, run
keys = dict(llms=["scripted/./llm.py:reply"], workflows=["react"], tasks=["aminer/soay-easy"], samples=1)
run(Grid(**keys, folder=Path(".")), "out")
assert not [name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))]
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=300)


def test_a_missing_extra_is_one_line_and_the_run_goes_on(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert run(grid(tmp_path), tmp_path / "out").state == "complete"
    assert [r.getMessage() for r in caplog.records if r.name == "r_eval"] == [
        "no spans are sent: type  pip install 'r-eval[otel]'  or unset OTEL_EXPORTER_OTLP_ENDPOINT"
    ]
    assert collector.spans == []

"""The call that an OpenAI-compatible server gets before a run, and what it finds out."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from r_eval.llms import attempts, preflight
from r_eval.llms.base import LLMError
from tests.chat_server import ASK, KEY, MODELS, USED, Answer, Server, bad, good, run


def opened(server: Server, **settings: Any) -> bool:
    """Whether tools are given natively, once the LLM is open."""

    async def talk(llm: Any) -> bool:
        return bool(llm.native_tools)

    return bool(run(server, talk, **settings))


def failure(server: Server, **settings: Any) -> LLMError:
    with pytest.raises(LLMError) as caught:
        opened(server, **settings)
    return caught.value


def warnings(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING)


def test_one_call_is_made_and_a_server_that_takes_everything_is_no_cause_for_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server(good())
    assert opened(server) is True
    (body,) = server.opened
    assert (body["model"], len(body["stop"]), len(body["tools"])) == ("some-model", 1, 1)
    assert warnings(caplog) == ""


@pytest.mark.parametrize(
    "answer",
    [
        bad(400, "registry.ollama.ai/library/some-model does not support tools"),
        bad(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        bad(500, "tools param requires --jinja flag"),
        bad(422, "Extra inputs are not permitted: functions"),
    ],
)
def test_a_server_that_refuses_tools_gets_them_in_the_prompt(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(good(), opening=(answer, good("ready", usage=USED)))
    assert opened(server) is False
    assert "tools" not in server.opened[-1]
    assert "described in the prompt" in warnings(caplog)


UNKNOWN = bad(404, "The model `some-model` does not exist.")


@pytest.mark.parametrize(
    ("answer", "models", "cause", "hint"),
    [
        (UNKNOWN, MODELS, "model", "it has: model-a, model-b"),
        (bad(404, 'model "some-model" not found, try pulling it first'), MODELS, "model", "it has: model-a, model-b"),
        *(
            (UNKNOWN, models, "model", "does not exist.")
            for models in (bad(404), Answer(body={"data": None}), Answer(body=[1]), Answer(body="no"))
        ),
        (bad(404, "Not Found"), MODELS, "request", "often in /v1?)"),
        (bad(401, f"Incorrect API key provided: {KEY}"), MODELS, "key", "refuses the key in SOME_KEY (HTTP 401"),
        (bad(403, KEY), MODELS, "key", "refuses the key in SOME_KEY (HTTP 403: [key])"),
    ],
)
def test_a_failure_says_what_to_do(
    answer: Answer, models: Answer, cause: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    error = failure(Server(good(), opening=(answer,), models=models), api_key_env="SOME_KEY")
    assert error.cause == cause
    assert hint in str(error)
    assert ("it has" in str(error)) == ("it has" in hint)
    assert KEY not in str(error)


def test_a_server_that_counts_no_tokens_is_warned_of_and_they_are_estimated(caplog: pytest.LogCaptureFixture) -> None:
    reply = run(Server(good("In Africa."), opening=(good("ready"),)), lambda llm: llm.generate(ASK))
    assert "counts no tokens" in warnings(caplog)
    assert reply.estimated is True
    assert 2 <= reply.tokens.completion <= 4 < reply.tokens.prompt <= 15


def test_a_failure_that_passes_is_tried_again_and_one_that_does_not_ends_soon() -> None:
    server = Server(good(), opening=(bad(503), bad(429), good("ready", usage=USED)))
    assert opened(server) is True
    assert len(server.opened) == 3
    server = Server(good(), opening=(bad(503),))
    assert failure(server).cause == "server"
    assert ["tools" in body for body in server.opened] == [True] * preflight.ATTEMPTS + [False]


# A key and where it goes


def test_a_gateway_may_want_the_key_in_a_header_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    server = Server(good())
    opened(server, api_key_env="SOME_KEY", api_key_header="api-key")
    assert [(h.get("api-key"), h.get("Authorization")) for h in server.headers] == [(KEY, None)]


# A server that dies in the middle of a run


def dying(monkeypatch: pytest.MonkeyPatch, *answers: Answer, calls: int = 30) -> tuple[Server, list[LLMError], Any]:
    monkeypatch.setattr(attempts.CircuitBreaker, "SECONDS", 0.2)
    monkeypatch.setattr(attempts.CircuitBreaker, "BETWEEN_PROBES", 0.3)
    server = Server(*answers)
    errors: list[LLMError] = []

    async def talk(llm: Any) -> Any:
        for _ in range(calls):
            try:
                await llm.generate(ASK)
            except LLMError as error:
                errors.append(error)
        await asyncio.sleep(0.35)
        server.answers = [good("back")]
        return await llm.generate(ASK)

    return server, errors, run(server, talk, connections=1)


def test_a_dead_server_is_soon_left_alone_and_asked_again_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 0.05)
    server, errors, reply = dying(monkeypatch, bad(503))
    assert (len(errors), reply.text) == (30, "back")
    assert len(server.bodies) < 31
    assert "has been down for" in str(errors[-1])


@pytest.mark.parametrize("answer", [bad(429), bad(400)])
def test_a_server_that_refuses_is_not_dead(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    _, errors, _ = dying(monkeypatch, answer, calls=10)
    assert not any("has been down" in str(error) for error in errors)


# What a call took


def test_failed_attempts_and_queueing_are_told_apart_from_generating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 0.1)
    late, failing = good("late"), bad(500)
    late.seconds, failing.seconds = 0.3, 0.2
    reply = run(Server(failing, late), lambda llm: llm.generate(ASK), connections=1)
    assert (reply.retries, reply.retry >= 0.2, reply.queue < 0.1) == (1, True, True)

    async def two(llm: Any) -> Any:
        return await asyncio.gather(llm.generate(ASK), llm.generate(ASK))

    queues = sorted(reply.queue for reply in run(Server(late), two, connections=1))
    assert queues[0] < 0.1
    assert queues[1] >= 0.29

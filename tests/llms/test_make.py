"""An LLM is made from a grid's name and settings; what is wrong with them is said in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r_eval.errors import UserError
from r_eval.llms.base import LLM, Price
from r_eval.llms.make import make
from r_eval.records import Tokens


def complaint(name: str, settings: dict[str, Any] | None = None) -> str:
    with pytest.raises(UserError) as caught:
        make(name, settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["gguf", "gguf/", "", "/"])
def test_a_name_without_its_two_halves_is_told_the_backends(name: str) -> None:
    message = complaint(name)
    assert f"LLM '{name}'" in message
    assert all(f"{backend}/..." in message for backend in ("gguf", "openai", "scripted"))


def test_an_unknown_backend_is_told_the_closest_and_all() -> None:
    message = complaint("opnai/gpt-4o-mini")
    assert "'opnai'" in message
    assert "Did you mean openai?" in message
    assert "Known: gguf, hf, langchain, openai, scripted" in message


def test_a_module_of_the_room_that_is_no_backend_is_none() -> None:
    assert "unknown" in complaint("wire/some-model")


def test_an_unknown_setting_is_told_the_closest_and_all() -> None:
    message = complaint("openai/some-model", {"temprature": 0.5})
    assert "'temprature'" in message
    assert "Did you mean temperature?" in message
    assert all(name in message for name in ("base_url", "api_key_env", "native_tools", "max_tokens", "price"))


def test_a_setting_of_another_backend_is_unknown() -> None:
    assert "unknown setting 'base_url'" in complaint("gguf/smollm2-135m", {"base_url": "http://127.0.0.1/v1"})


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"temperature": "hot"}, "temperature must be int or float, not 'hot'"),
        ({"max_tokens": 1.5}, "max_tokens must be int, not 1.5"),
        ({"max_tokens": True}, "max_tokens must be int, not True"),
        ({"temperature": False}, "temperature must be int or float, not False"),
        ({"base_url": 7}, "base_url must be str, not 7"),
        ({"native_tools": 1}, "native_tools must be bool, not 1"),
        ({"connections": None}, "connections must be int, not None"),
        ({"connections": 0}, "connections must be at least 1"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"temperature": -0.5}, "temperature must be at least 0"),
        ({"price": 3}, "price must be dict, not 3"),
        ({"price": {"prompt": 1.0}}, "price takes prompt, completion and cached"),
        ({"price": {"prompt": 1.0, "completion": 1.0, "input": 1.0}}, "price takes prompt, completion and cached"),
        ({"price": {"prompt": "free", "completion": 1.0}}, "'free' is not a number"),
    ],
)
def test_a_wrong_value_is_told_what_is_wanted(settings: dict[str, Any], wanted: str) -> None:
    message = complaint("openai/some-model", settings)
    assert "openai/some-model" in message
    assert wanted in message


def test_settings_reach_the_llm() -> None:
    llm = make("openai/a/b", {"temperature": 1, "max_tokens": 9, "connections": 3, "base_url": "http://x/v1/"})
    assert (llm.name, llm.model, llm.temperature, llm.max_tokens, llm.connections) == ("openai/a/b", "a/b", 1.0, 9, 3)
    assert llm.identity()["base_url"] == "http://x/v1"


def test_without_settings_generation_is_greedy() -> None:
    assert make("openai/some-model").temperature == 0.0


def test_native_tools_can_be_switched_off() -> None:
    assert make("openai/some-model").native_tools
    assert not make("openai/some-model", {"native_tools": False}).native_tools


@pytest.mark.parametrize("setting", ["context", "slots", "threads"])
def test_a_local_model_needs_at_least_one_of_everything(setting: str) -> None:
    assert f"{setting} must be at least 1" in complaint("gguf/smollm2-135m", {setting: 0})


@pytest.mark.parametrize("setting", [{"temperature": 0.7}, {"max_tokens": 7}])
def test_what_changes_replies_changes_the_identity(setting: dict[str, Any]) -> None:
    assert make("openai/some-model").identity() != make("openai/some-model", setting).identity()


def test_how_many_connections_there_are_does_not_change_the_identity() -> None:
    assert make("openai/some-model").identity() == make("openai/some-model", {"connections": 2}).identity()


def test_a_backend_may_be_a_class_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from r_eval.llms.base import LLM\nclass Mine(LLM):\n    pass\n", encoding="utf-8")
    from r_eval.plugins import load

    assert issubclass(load("llms", f"{path}:Mine", LLM), LLM)


def test_a_price_counts_a_million_tokens() -> None:
    tokens = Tokens(prompt=1_000_000, completion=500_000, cached=400_000)
    assert Price(prompt=1.0, completion=4.0).cost(tokens) == pytest.approx(3.0)
    assert Price(prompt=1.0, completion=4.0, cached=0.5).cost(tokens) == pytest.approx(2.8)


def test_an_llm_without_a_price_has_none() -> None:
    assert make("openai/some-model").price is None
    assert make("openai/some-model", {"price": {"prompt": 1, "completion": 2}}).price == Price(1, 2)

"""What all tests of LLMs have in common."""

from __future__ import annotations

import pytest

from r_eval.llms import attempts


@pytest.fixture(autouse=True)
def _short_waits_and_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between two attempts are short, and no key of the machine is used."""
    monkeypatch.setattr(attempts, "LONGEST_WAIT", 0.01)
    for name in ("OPENAI_API_KEY", "SOME_KEY"):
        monkeypatch.delenv(name, raising=False)

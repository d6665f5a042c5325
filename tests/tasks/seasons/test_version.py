"""Versions of question sets."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r_eval.errors import UserError
from r_eval.tasks.seasons import Version

numbers = st.integers(0, 10**6)
versions = st.builds(Version, numbers, numbers, numbers)


def test_parts_are_compared_as_numbers() -> None:
    texts = ["1.10.0", "1.9.0", "2.0.0", "1.9.10", "1.9.9"]
    assert sorted(texts, key=Version.parse) == ["1.9.0", "1.9.9", "1.9.10", "1.10.0", "2.0.0"]


def test_the_next_season_raises_the_minor_number_and_clears_the_patch() -> None:
    assert [str(Version.parse(text).next()) for text in ("1.9.0", "1.10.3")] == ["1.10.0", "1.11.0"]


@given(versions)
def test_a_version_is_read_from_what_it_is_written_as(version: Version) -> None:
    assert Version.parse(str(version)) == version


@given(versions)
def test_the_next_season_is_later(version: Version) -> None:
    assert version < version.next()


@given(st.text("0123456789.-v ", max_size=12))
def test_a_text_is_a_version_that_is_written_the_same_or_is_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        assert str(Version.parse(text)) == text


@pytest.mark.parametrize("text", ["", "1", "1.2", "1.2.3.4", "v1.2.3", "1.02.3", "1.-2.3", "1.2.x", "1.2.3\n", "1.2.³"])
def test_what_is_no_version_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(UserError, match=r"expected major\.minor\.patch"):
        Version.parse(text)

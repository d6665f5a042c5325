"""Values are replaced as whole tokens, once, and back; what stands for them is of their kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r_eval.environments.conditions.replacing import (
    FORMS,
    Replacements,
    as_date,
    dated,
    is_number,
    same_kind,
    unheard_of,
)


@pytest.mark.parametrize(
    ("values", "text", "new"),
    [
        ({"Oslo": "Lima"}, "Oslo, in Oslo.", "Lima, in Lima."),
        ({"Oslo": "Lima"}, "Oslovian, Neoslo", "Oslovian, Neoslo"),
        ({"Oslo": "Lima"}, "oslo OSLO oSLO", "lima LIMA Lima"),
        ({"Oslo": "Lima"}, "Bogota\u0301 １", "Bogota\u0301 １"),
        ({"WY": "UT"}, "WY wy Wy", "UT wy Wy"),
        ({"Marie Curie": "Ada Byron"}, "Marie\n  Curie, Marie_Curie", "Ada Byron, Ada Byron"),
        ({"America/Sao_Paulo": "Asia/Ho_Chi_Minh"}, "America/Sao Paulo", "Asia/Ho_Chi_Minh"),
        ({"Guinea": "Chad", "Papua New Guinea": "Kenya"}, "Papua New Guinea and Guinea", "Kenya and Chad"),
        ({"Oslo": "Lima", "Lima": "Quito"}, "Oslo, Lima", "Lima, Quito"),
        ({"York": "Bath", "Bath": "York", "New York": "New York"}, "York, New York, Bath", "Bath, New York, York"),
        ({"A.B (film)": "C*D (play)"}, "A.B (film), AxB (film)", "C*D (play), AxB (film)"),
        ({"Bogotá": "Lima"}, "Bogota\u0301", "Lima"),
        ({"1867": "1871"}, "１８６７年, 生于1867年", "1871年, 生于1871年"),
        ({"北京": "上海"}, "首都是北京市", "首都是上海市"),
        ({"43,976": "51,208"}, "43,976 people, 43976 people", "51,208 people, 51208 people"),
        (
            {"43,976": "51,208"},
            {"people": 43976.0, "text": "43976.0, -43976.0"},
            {"people": 51208.0, "text": "51208.0, -51208.0"},
        ),
        ({"43,976": "51,208"}, "143,976 and 43,976,000 and 43,976.5", "143,976 and 43,976,000 and 43,976.5"),
    ],
)
def test_a_value_is_replaced_as_whole_tokens_in_the_form_in_which_it_stands(
    values: dict[str, str], text: Any, new: Any
) -> None:
    assert Replacements(values).forward(text) == new


@pytest.mark.parametrize("form", FORMS)
def test_a_date_keeps_the_form_in_which_it_is_written(form: str) -> None:
    old, new = as_date("7 November 1867"), as_date("9 March 1858")
    assert old is not None
    assert new is not None
    changes = Replacements({"7 November 1867": "9 March 1858"})
    assert changes.forward(f"born on {dated(old[0], form)}.") == f"born on {dated(new[0], form)}."
    assert as_date("31 February 1900") is None


@pytest.mark.parametrize("text", ["Elif Aydın", "ELİF AYDIN", "Elif Aydin", "elif aydın", "Elıf Aydin"])
def test_a_turkish_name_is_replaced_with_and_without_its_dots(text: str) -> None:
    assert Replacements({"Elif Aydın": "Ayşe Demir"}).forward(f"By {text}.").casefold() == "by ayşe demir."


def test_a_new_value_that_was_an_old_one_is_no_trace() -> None:
    changes = Replacements({"Oslo": "Lima", "Lima": "Quito"})
    assert (changes.traces("Lima"), changes.traces("to Oslo"), changes.back("Lima, Quito")) == (
        False,
        True,
        "Oslo, Lima",
    )


@pytest.mark.parametrize(
    "old", ["Danube", "Marie Curie", "43,976", "1867", "7 November 1867", "1867年11月7日", "北京市"]
)
def test_an_old_value_is_asked_for_under_a_name_that_nothing_has_and_comes_back_as_it_was_written(old: str) -> None:
    blank = unheard_of(old)
    assert same_kind(blank, old)
    assert (as_date(blank) or ("", ""))[1] == (as_date(old) or ("", ""))[1]
    assert is_number(blank) is is_number(old)
    news = {"43,976": "51,208", "1867": "1871", "北京市": "上海市", "1867年11月7日": "1858年3月9日"}
    changes = Replacements({old: news.get(old, "9 March 1858" if as_date(old) else "Łódź")})
    for written in (old, old.lower(), f"the length of {old}"):
        inward = changes.back(written)
        assert old.casefold() not in inward.casefold()
        assert changes.forward(f"Could not find [{inward}].") == f"Could not find [{written}]."


OLD = ("Oslo", "Marie Curie", "Curie", "WY", "43,976", "1867", "7 November 1890", "北京", "2.5", "Zoë's Inn")
NEW = ("Lima", "Ada Byron", "Noether", "UT", "51,208", "1871", "19 March 1888", "上海", "3.5", "Café Rot")
VALUES = dict(zip(OLD, NEW, strict=True))
chosen = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, unique=True).map(
    lambda olds: {old: VALUES[old] for old in olds}
)
pieces = st.one_of(
    st.sampled_from(sorted(OLD)),
    st.sampled_from(sorted(OLD)).map(str.upper),
    st.sampled_from(sorted(OLD)).map(str.lower),
    st.sampled_from([" ", ",", ".", "'s", "-", "_", "年", "x", "7", "é", "\u0301", "ﬁ", "\n", "of"]),
    st.text(max_size=3),
)
texts = st.lists(pieces, max_size=12).map("".join)


@given(chosen, texts)
@settings(max_examples=100, deadline=None)
def test_no_old_value_is_left(values: dict[str, str], text: str) -> None:
    changes = Replacements(values)
    assert not changes.traces(changes.forward(text))

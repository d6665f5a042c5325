"""Slots: the places in a sentence of a template or graph file that are filled in, such as `{subject}`."""

from __future__ import annotations

import string


def check_slots(key: str, text: str | None, slots: set[str]) -> None:
    """See that a text has these slots, each with nothing but its name between the braces.

    Raises:
        ValueError: It lacks one, or has another.
    """
    if text is None:
        return
    try:
        found = [
            (name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(text) if name is not None
        ]
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    wanted = " and ".join(f"{{{slot}}}" for slot in sorted(slots))
    if {name for name, _, _ in found} != slots or any(spec or conversion for _, spec, conversion in found):
        raise ValueError(f"{key}: must hold {wanted} and no other slot: {text!r}")

"""Data as scripts: opened from disk, a page may not fetch, but it may load a script."""

from __future__ import annotations

import json
import math
import numbers
from pathlib import Path
from typing import Any

from r_eval.folder import write_whole


def write_script(out: Path, name: str, data: Any) -> None:
    """Write data/`name`.js, which sets `R_EVAL[name]`."""
    write_whole(out / "data" / f"{name}.js", script(name, data))


def script(name: str, data: Any) -> str:
    r"""A script that sets `R_EVAL[name]`.

    The data are a string of ASCII that the page parses as JSON: no key becomes a property such as
    `__proto__`, and neither "</script>" nor U+2028 can end anything.
    """
    text = json.dumps(json.dumps(data, separators=(",", ":"), allow_nan=False))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"window.R_EVAL = window.R_EVAL || {{}};\nwindow.R_EVAL[{json.dumps(name)}] = JSON.parse({text});\n"


def rounded(value: Any) -> float | None:
    """A number with six digits, whole ones as they are; None for one that is not known or not finite."""
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, numbers.Integral) else float(f"{float(value):.6g}")

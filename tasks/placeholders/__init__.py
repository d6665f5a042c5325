"""Questions in variants: documents hold placeholders, and each variant fills them with other values.

A system that knew the answer beforehand knows that of one variant at most; one that reads is right in all of them.
Everything here is a pure function over a `Record`; `r_eval.tasks.loaders.prgb` makes questions of it.
"""

from __future__ import annotations

from r_eval.tasks.placeholders.expressions import BadExpression, parse, written
from r_eval.tasks.placeholders.record import Record, substituted
from r_eval.tasks.placeholders.variants import LEVELS, Sampling, Variant, variants

__all__ = ["LEVELS", "BadExpression", "Record", "Sampling", "Variant", "parse", "substituted", "variants", "written"]

"""Starting points that `r-eval new` writes."""

from __future__ import annotations

from r_eval.scaffold.project import new_domain

__all__ = ["new_domain"]

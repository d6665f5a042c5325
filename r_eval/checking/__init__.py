"""`r-eval check`: what is amiss in an environment, a template file, a question file, a task or a grid, before any LLM
is asked.

One module for each kind of target gives `Finding`s. Nothing is raised for what is wrong with a target: that is a
finding too.
"""

from __future__ import annotations

from r_eval.checking.finding import Finding
from r_eval.checking.target import check

__all__ = ["Finding", "check"]

"""Problems in an environment, a question file, a template file, a task or a grid, before any LLM is called.

One set of checks for `r-eval check`, for the test of a new domain and for `r_eval.testing`. Nothing is raised for what
is wrong with a target: that is a `Finding` too. What is not ours to change (a server, another library's tools, a live
source) is called only where it declares that it only reads, or where that is asked for.
"""

from __future__ import annotations

from r_eval.checks.calls import Call
from r_eval.checks.environments import check
from r_eval.checks.finding import Finding
from r_eval.checks.targets import check_target

__all__ = ["Call", "Finding", "check", "check_target"]

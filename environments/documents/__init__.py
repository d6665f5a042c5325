"""Documents: those that come with a question behind one query API, `retrieve`; they are searched in memory."""

from r_eval.environments.corpus.passages import MOST_PASSAGES

from .environment import Documents

__all__ = ["MOST_PASSAGES", "Documents"]

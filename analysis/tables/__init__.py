"""The tables of a report, each as CSV, Markdown and LaTeX: scores, responses, failures, causes, deployment.

`sheet` says what a table is, `formats` writes one in the three formats, `scores` and `contents` fill them.
"""

from r_eval.analysis.tables.contents import episode_sheets, write_tables
from r_eval.analysis.tables.formats import write_sheet
from r_eval.analysis.tables.sheet import Sheet, View

__all__ = ["Sheet", "View", "episode_sheets", "write_sheet", "write_tables"]

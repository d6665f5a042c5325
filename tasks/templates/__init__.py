"""Questions from templates: a record fills a sentence, and the template's program computes the gold answer through the
environment's query APIs in the sandbox. So every question is known to be answerable through the APIs.
docs/questions.md describes the file.

A question is dropped, and counted by reason, if `where` is false for its records, a slot is empty, its program fails or
gives nothing, its text contains the answer (unless it offers several things, one of which is the answer), or it is
ambiguous: other records would make the same question with another answer.
"""

from r_eval.tasks.templates.generate import Generated, generate
from r_eval.tasks.templates.records import KnownRecords
from r_eval.tasks.templates.schema import Template, TemplateFile, read_templates

__all__ = ["Generated", "KnownRecords", "Template", "TemplateFile", "generate", "read_templates"]

"""Questions in variants: documents contain placeholders, and each variant fills them with other values.

A system that knows the answer beforehand knows at most one variant; a system that reads answers all of them.
`r_eval.tasks.loaders.prgb` builds questions from a `record.PlaceholderRecord`.
"""

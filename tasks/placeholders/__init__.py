"""Questions in variants: documents hold placeholders, and each variant fills them with other values.

A system that knew the answer beforehand knows that of one variant at most; one that reads is right in all of them.
`r_eval.tasks.loaders.prgb` makes questions of a `record.Record`.
"""

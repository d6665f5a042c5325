"""What a run means: metrics, scores, response types, aggregates, tables and the report.

Everything here reads records and writes beside them; nothing runs an LLM or an environment. The order of the
modules is the order of the data: `metrics` judge an answer, `responses` type an episode, `scoring` keeps
both beside the episodes, `aggregate` sums them up, and `tables`, `summary` and `report` show the sums.
"""

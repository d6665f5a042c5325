"""What a run means: metrics, scores, response types, comparisons, tables, charts and the report.

This package reads records and writes next to them; it never runs an LLM or an environment. Data flow: `metrics` score
an answer, `response_types` and `causes` classify an episode, `scoring` stores both; `results` loads runs as frames,
each view (`views`) turns them into a tidy frame, and `tables`, `charts`, `summary` and `report` show it.
"""

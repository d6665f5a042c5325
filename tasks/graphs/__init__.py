"""Questions from a graph (after DRAGON): triples of subject, relation and object are sampled by rules under which a
question has one answer, put into words by templates or an LLM, and filtered.

`store` holds the triples and `sampling` draws subgraphs. `asking` says what can be asked of one, `wording` and
`rewording` put it into words, `programs` finds the answer through query APIs. `filters` and `judging` drop what is no
good, and `generate` does all of it for a graph file (`file`). `extract` has an LLM read triples out of documents.
"""

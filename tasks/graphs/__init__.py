"""Questions from a graph (after DRAGON): triples of subject, relation and object are sampled by rules under which a
question has one answer, put into words by templates or an LLM, and filtered.

`graph` holds the triples and draws subgraphs, `ask` plans questions and gold programs, `wording` puts them into words,
`judge` drops what is no good, and `pipeline` does all of it for a graph file (`graph_file`) over its `source`.
`extract` has an LLM read triples out of documents, with names as a reference list has them (`matching`).
"""

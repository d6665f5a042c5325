"""Questions from a graph (after DRAGON): triples of subject, relation and object are sampled by rules that ensure one
answer, worded by templates or an LLM, and filtered.

`graph` samples subgraphs, `ask` plans questions and gold programs, `wording` writes their text, `judge` filters them,
and `pipeline` does all of this for a graph file (`graph_file`) over its `source`. `extract` extracts triples from
documents with an LLM, with names from a reference list (`matching`).
"""

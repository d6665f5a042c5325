"""How often the first sentence of a document, as a query, finds the document first, by retriever.

A document whose text is a duplicate of the right one counts as right. Texts are those of R_EVAL_DATA
(crud/documents_hallu.txt_part_1, 1,710 in Chinese) or of another file.

    python benchmarks/first_sentences.py [RETRIEVER]... [--documents FILE] [--chunk-size 128] [--sample N] [--top-k 8]

`--sample` asks about so many documents only, drawn with a fixed seed. The embedding model is the embedded one unless
`--embedding` names another.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import time
from pathlib import Path

from r_eval.environments.corpus import Corpus
from r_eval.environments.corpus.retrievers import NAMES

FIRST_SENTENCE = re.compile(r".*?[。！？][”’」』）】》]*")


def main(given: argparse.Namespace) -> None:
    path = given.documents or Path(os.environ["R_EVAL_DATA"], "crud", "documents_hallu.txt_part_1")
    print(f"{path.name}, chunks of at most {given.chunk_size} tokens, top_k {given.top_k}")
    for name in given.retrievers:
        began = time.perf_counter()
        corpus = Corpus(str(path), chunk_size=given.chunk_size, retriever=name, embedding=given.embedding)
        opened = time.perf_counter() - began
        texts = {record["id"]: record["text"] for record in corpus.records("document")}
        asked = sorted(texts)
        if given.sample:
            asked = random.Random(0).sample(asked, min(given.sample, len(asked)))
        began = time.perf_counter()
        right = sum(_first(corpus, texts, texts[document], given.top_k) for document in asked)
        each = 1000 * (time.perf_counter() - began) / len(asked)
        print(
            f"{name}: {100 * right / len(asked):.2f} % of {len(asked):,} at rank 1; "
            f"opened in {opened:.1f} s, {each:.1f} ms a query",
            flush=True,
        )


def _first(corpus: Corpus, texts: dict[str, str], text: str, top_k: int) -> bool:
    """Whether what is found first has this text."""
    sentence = FIRST_SENTENCE.match(text)
    found = corpus.retrieve(sentence[0] if sentence else text, top_k=top_k)
    return texts[found[0].id.rpartition("#")[0]] == text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("retrievers", nargs="*", metavar="RETRIEVER", help=f"of {', '.join(NAMES)}; bm25 by default")
    parser.add_argument("--documents", type=Path)
    parser.add_argument("--chunk-size", type=int, default=128)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--top-k", type=int, default=8)
    parser.add_argument("--embedding")
    arguments = parser.parse_args()
    arguments.retrievers = arguments.retrievers or ["bm25"]
    main(arguments)

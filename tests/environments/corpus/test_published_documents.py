"""On CRUD-RAG's own documents: the first sentence of a document, as a query, finds the document.

Its database holds some texts several times, and some that begin with the same sentence; the former count as found.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from r_eval.environments.corpus import Corpus

pytest.importorskip("langchain_text_splitters", reason="needs langchain-text-splitters (extra retrieval)")

FIRST_SENTENCE = re.compile(r".*?[。！？][”’」』）】》]*")


def test_the_first_sentence_of_99_in_100_documents_finds_the_document_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.environ.get("R_EVAL_DATA")
    path = Path(data or "", "crud", "documents_hallu.txt_part_1")
    if not data or not path.is_file():
        pytest.skip("R_EVAL_DATA names no folder with CRUD-RAG's documents (crud/documents_hallu.txt_part_1)")
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path))
    corpus = Corpus(str(path))
    texts = {record["id"]: record["text"] for record in corpus.records("document")}
    right = 0
    for text in texts.values():
        first = FIRST_SENTENCE.match(text)
        found = corpus.retrieve(first[0] if first else text, top_k=1)[0]
        right += texts[found.id.rpartition("#")[0]] == text
    assert len(texts) == 1710
    assert right / len(texts) >= 0.99

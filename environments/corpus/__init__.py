"""Corpus: documents of your own behind one query API, `retrieve`, with the parts of a retrieval pipeline as settings.

`sources` reads them, `splitting` cuts them into chunks, `chunks` keeps these on disk, `retrievers` finds them; what
comes back are passages. The settings are those whose effect CRUD-RAG measures (https://arxiv.org/abs/2401.17043).
"""

from .environment import Corpus, Passage

__all__ = ["Corpus", "Passage"]

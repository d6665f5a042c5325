"""How transformers loads a model: a GGUF file read once, and without a word."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from collections.abc import Iterator

LOADING = threading.Lock()
"""Held while a model is loaded, since what is changed in other packages for that long is changed for all threads."""


@contextlib.contextmanager
def read_once() -> Iterator[None]:
    """Read a GGUF file once, as well as the names of its tensors: half the seconds of loading one.

    transformers would read it for its configuration, its tokenizer and its weights, and would make the names anew for
    every part of the model.
    """
    try:
        gguf = importlib.import_module("gguf")
    except ImportError:  # transformers names what is missing, where there is a GGUF file at all
        yield
        return
    with LOADING:
        made = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
        for name, make in made.items():
            setattr(gguf, name, functools.cache(make))
        try:
            yield
        finally:
            for name, make in made.items():
                setattr(gguf, name, make)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars and advice of transformers; that of its GGUF reader has no switch."""
    from transformers import modeling_gguf_pytorch_utils as reader
    from transformers.utils import logging

    bar = getattr(reader, "tqdm", None)
    if bar is not None:
        reader.tqdm = functools.partial(bar, disable=True)
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if bar is not None:
            reader.tqdm = bar
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()

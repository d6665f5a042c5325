"""Records of a dataset on the Hugging Face Hub, or of a folder in a form that its `datasets` library reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_folder
from r_eval.tasks.loaders.reading import Fault, Record

HUB = "hf:"


def hub_source(name: str, config: str | None, split: str | None) -> str:
    """The source that `hub_records` takes: `hf:ORGANISATION/NAME#CONFIGURATION/SPLIT`."""
    return f"{HUB}{name}#{config or ''}/{split or ''}"


def hub_records(source: str) -> Iterator[Record | Fault]:
    """The records of a dataset, streamed; of its one split where none is named.

    Raises:
        MissingExtra: `datasets` is not installed.
        UserError: The dataset is unknown, configuration or split, or it cannot be fetched.
    """
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets", f"data: {HUB}...") from None
    whole = source.removeprefix(HUB)
    name, _, place = whole.rpartition("#") if "#" in whole else (whole, "", "")
    config, _, split = place.partition("/")
    try:
        splits = [split] if split else [str(one) for one in datasets.get_dataset_split_names(name, config or None)]
        if len(splits) == 1:
            stream = datasets.load_dataset(name, config or None, split=splits[0], streaming=True)
            for number, row in enumerate(stream, 1):
                yield Record(f"{HUB}{name}: record {number} of {splits[0]}", row)
    except Exception as error:  # noqa: BLE001 - the library and what it reads with raise anything
        text = " ".join(str(error).split())[:300] or "cannot be read"
        raise UserError(f"{HUB}{name}: {type(error).__name__}: {text}") from None
    if len(splits) != 1:
        raise UserError(f"{HUB}{name}: name one of its splits with split: {', '.join(splits)}")


def local(name: str, folder: Path) -> str:
    """A dataset's name as `datasets` takes it: a folder seen from the grid's, where there is one."""
    return str(folder / name) if name and is_folder(folder / name) else name

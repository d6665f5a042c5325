"""Records of a dataset on the Hugging Face Hub, or of a folder in a form that its `datasets` library reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from r_eval.errors import MissingExtra, UserError
from r_eval.files import is_folder
from r_eval.tasks.loaders.reading import Fault, Record

HUB = "hf:"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where on the Hub: `hf:ORGANISATION/NAME`, with the configuration and the split behind `#`, as far as given."""

    name: str
    config: str | None
    split: str | None

    @classmethod
    def of(cls, source: str) -> Place:
        name, _, rest = source.removeprefix(HUB).rpartition("#") if "#" in source else (source[len(HUB) :], "", "")
        config, _, split = rest.partition("/")
        return cls(name, config or None, split or None)


def hub_source(name: str, config: str | None, split: str | None) -> str:
    """The source that `hub_records` takes."""
    return f"{HUB}{name}#{config or ''}/{split or ''}"


def hub_records(source: str) -> Iterator[Record | Fault]:
    """The records of a dataset, streamed.

    Raises:
        MissingExtra: `datasets` is not installed.
        UserError: The dataset is unknown, configuration or split, or it cannot be fetched.
    """
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets", f"data: {HUB}...") from None
    place = Place.of(source)
    split = place.split or _only_split(place)
    try:
        stream = datasets.load_dataset(place.name, place.config, split=split, streaming=True)
        for number, row in enumerate(stream, 1):
            yield Record(f"{HUB}{place.name}: record {number} of {split}", row)
    except Exception as error:  # noqa: BLE001 - the library and what it reads with raise anything
        raise UserError(f"{HUB}{place.name}: {_reason(error)}") from None


def _only_split(place: Place) -> str:
    """The split, where a dataset has but one.

    Raises:
        UserError: It has several.
    """
    import datasets

    try:
        splits = [str(name) for name in datasets.get_dataset_split_names(place.name, place.config)]
    except Exception as error:  # noqa: BLE001 - as above
        raise UserError(f"{HUB}{place.name}: {_reason(error)}") from None
    if len(splits) != 1:
        raise UserError(f"{HUB}{place.name}: name one of its splits with split: {', '.join(splits)}")
    return splits[0]


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:300] or "cannot be read"
    return f"{type(error).__name__}: {text}"


def local(name: str, folder: Path) -> str:
    """A dataset's name as `datasets` takes it: a folder seen from the grid's, where there is one."""
    return str(folder / name) if name and is_folder(folder / name) else name

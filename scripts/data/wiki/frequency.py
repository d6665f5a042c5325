"""How often the names of pages stand in English text: `facts/frequency.tsv`, which the pages' popularity comes from.

    python -m scripts.data.wiki.frequency

A Zipf frequency is the logarithm to base 10 of how often a name stands in a billion words; for a name of several words
wordfreq combines those of its words. Needs wordfreq (`pip install wordfreq`) and the embedded pages.
"""

from __future__ import annotations

import json

from r_eval.environments.wiki.environment import SNAPSHOT

from .people import FACTS

TABLE = FACTS / "frequency.tsv"


def plain_name(title: str) -> str:
    """A title without what tells it from others of its name, such as "(novel)"."""
    return title.partition(" (")[0] if title.endswith(")") else title


def main() -> None:
    """Write the table.

    Raises:
        ModuleNotFoundError: wordfreq is not installed.
    """
    from wordfreq import zipf_frequency

    pages = map(json.loads, SNAPSHOT.read_text(encoding="utf-8").splitlines())
    names = sorted({plain_name(page["title"]) for page in pages})
    lines = [f"{name}\t{zipf_frequency(name, 'en'):.2f}\n" for name in names]
    TABLE.write_text("name\tzipf\n" + "".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

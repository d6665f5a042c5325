"""The index by which titles similar to a text are found.

- `names`: full-text index of the trigrams of all keys of `pages` and `redirects`, by `id`, without the text itself.
- `trigrams`: how many keys hold each, so that a search for similar titles can begin with the rarest.

Memory does not grow with the number of pages.
"""

from __future__ import annotations

import sqlite3

from .folding import title_key

INDEX_TABLES = """
CREATE TABLE trigrams (trigram TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE names USING fts5(
    key, content='', detail='none', columnsize=0, tokenize='trigram case_sensitive 1');
"""
_FILL = """
INSERT INTO names (rowid, key) SELECT id, iif(substr(key, 1, 1) = '=', title_key(title), key) FROM pages ORDER BY id;
INSERT INTO names (rowid, key) SELECT id, key FROM redirects ORDER BY id;
INSERT INTO names (names) VALUES ('optimize');
CREATE VIRTUAL TABLE temp.trigram USING fts5vocab('main', 'names', 'row');
INSERT INTO trigrams SELECT term, doc FROM temp.trigram ORDER BY term;
DROP TABLE temp.trigram;
"""


def trigrams(key: str) -> set[str]:
    """The runs of three characters of a key, as SQLite's tokenizer finds them."""
    return {key[start : start + 3] for start in range(len(key) - 2)}


def index_names(connection: sqlite3.Connection) -> None:
    """Fill `names` and `trigrams` from `pages` and `redirects`."""
    connection.create_function("title_key", 1, title_key, deterministic=True)
    connection.executescript(_FILL)

"""What several contracts need, and takes long to make."""

from __future__ import annotations

import pytest

from tests import mediawiki
from tests.wikis import wikitext


@pytest.fixture(scope="session")
def installed_wiki(tmp_path_factory: pytest.TempPathFactory) -> mediawiki.MediaWiki:
    """An installed MediaWiki with all pages of `wikis`, not running."""
    if reason := mediawiki.missing():
        pytest.skip(reason)
    return mediawiki.MediaWiki(tmp_path_factory.mktemp("mediawiki"), wikitext())

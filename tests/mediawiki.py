"""A real MediaWiki for tests, from Debian's packages, over SQLite and PHP's own web server."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

CODE = Path("/usr/share/mediawiki")
PACKAGES = "mediawiki php-cli php-sqlite3 php-mbstring php-xml php-intl"
WITHOUT_EXTRACTS = "no-extracts"
"""A user agent that holds this sees the wiki as if it had no TextExtracts."""
PROPERTY = "Marked as ambiguous: "
"""A page whose text holds this gets the property that the Disambiguator extension would give it."""
_SETTINGS = f"""
$wgServer = 'http://' . ( $_SERVER['HTTP_HOST'] ?? '127.0.0.1' );
if ( strpos( $_SERVER['HTTP_USER_AGENT'] ?? '', '{WITHOUT_EXTRACTS}' ) === false ) {{
    wfLoadExtension( 'TextExtracts' );
}}
$wgHooks['ContentAlterParserOutput'][] = static function ( $content, $title, $output ) {{
    if ( strpos( $content->getTextForSearchIndex(), '{PROPERTY}' ) !== false ) {{
        $output->setPageProperty( 'disambiguation', '' );
    }}
}};
"""
_PAGE = """<page><title>{title}</title><ns>0</ns><revision><timestamp>2024-01-01T00:00:00Z</timestamp>
<contributor><username>Admin</username></contributor><model>wikitext</model><format>text/x-wiki</format>
<text xml:space="preserve">{text}</text></revision></page>"""


def missing() -> str:
    """Why there can be no MediaWiki here; empty where there can."""
    if not shutil.which("php"):
        return f"needs PHP: apt-get install {PACKAGES}"
    if not (CODE / "maintenance" / "install.php").is_file():
        return f"needs MediaWiki: apt-get install {PACKAGES}"
    loaded = subprocess.run(["php", "-m"], capture_output=True, text=True, check=True).stdout.split()
    lacking = [name for name in ("mbstring", "xml", "intl", "pdo_sqlite") if name not in loaded]
    return f"PHP lacks {', '.join(lacking)}: apt-get install {PACKAGES}" if lacking else ""


class Served:
    """A wiki that answers, or did."""

    def __init__(self, log: Path) -> None:
        self.port = _free_port()
        self.log = log

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api.php"

    @property
    def requests(self) -> int:
        """How many requests the API got."""
        return self.log.read_text(encoding="utf-8", errors="replace").count("GET /api.php?")


class MediaWiki:
    """An installed wiki.

    Args:
        folder: An empty folder, for its settings and its database.
        pages: Wikitext by title; a page that links to others comes after them, so that their links are known to exist.
    """

    def __init__(self, folder: Path, pages: Mapping[str, str]) -> None:
        self._settings = folder / "LocalSettings.php"
        self._logs = folder / "logs"
        self._logs.mkdir()
        place = ["--dbtype", "sqlite", "--confpath", str(folder), "--dbpath", str(folder), "--scriptpath", ""]
        address = ["--server", "http://127.0.0.1"]
        self._maintain("install.php", *place, *address, "--pass", "kettle-and-tea-4", "Pantry", "Admin")
        with self._settings.open("a", encoding="utf-8") as settings:
            settings.write(_SETTINGS)
        dump = folder / "pages.xml"
        texts = (_PAGE.format(title=escape(title), text=escape(text)) for title, text in pages.items())
        start = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
        dump.write_text("\n".join([start, *texts, "</mediawiki>"]), encoding="utf-8")
        self._maintain("importDump.php", str(dump))
        self._maintain("rebuildtextindex.php")

    @contextlib.contextmanager
    def running(self) -> Iterator[Served]:
        """Serve it, on a port of its own."""
        served = Served(self._logs / f"{len(list(self._logs.iterdir()))}.log")
        with served.log.open("wb") as log:
            server = subprocess.Popen(
                ["php", "-S", f"127.0.0.1:{served.port}", "-t", str(CODE)],
                cwd=CODE,
                env=self._environment | {"PHP_CLI_SERVER_WORKERS": "4"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            if not _is_reached(served.port, answers=True):
                raise RuntimeError(f"PHP's server does not answer: {served.log.read_text(encoding='utf-8')[-2000:]}")
            yield served
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            _is_reached(served.port, answers=False)  # its workers end after it

    @property
    def _environment(self) -> dict[str, str]:
        return dict(os.environ, MW_CONFIG_FILE=str(self._settings))

    def _maintain(self, script: str, *arguments: str) -> None:
        environment = self._environment if self._settings.exists() else None
        command = ["php", str(CODE / "maintenance" / script), *arguments]
        done = subprocess.run(command, cwd=CODE, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{script} failed: {done.stdout[-2000:]} {done.stderr[-2000:]}")


def _is_reached(port: int, answers: bool) -> bool:
    """Whether something answers there, or nothing any more, within some seconds."""
    for _ in range(500):
        if _answers(port) == answers:
            return True
        time.sleep(0.03)
    return False


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port

"""The `r-eval` command: what can be typed, and how an end becomes an exit status.

Results go to standard output, progress and complaints to standard error. 0: done; 1: the run is incomplete;
2: the command or a file is wrong; 130: interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Annotated

import typer

from r_eval.cli import domain_commands, question_commands, run_commands
from r_eval.errors import Unwritable, UserError

app = typer.Typer(
    rich_markup_mode=None,
    name="r-eval",
    help="Evaluate which LLM, led in which way, works on your domain, why the others fail, and which one to deploy.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (run_commands, question_commands, domain_commands):
    app.add_typer(commands.app)


def _version(wanted: bool) -> None:
    if wanted:
        from r_eval import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; works anywhere in the command.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None: ...


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Errors of a disk that has no room, or that nothing may be written to."""


def main() -> None:
    """Entry point; turns every end into an exit status, and shows no traceback without --debug."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(arguments, standalone_mode=True)
    except UserError as error:
        if debug:
            raise
        sys.stderr.write(f"r-eval: {error}\n")
        sys.exit(1 if isinstance(error, Unwritable) else 2)
    except KeyboardInterrupt:
        sys.stderr.write("r-eval: interrupted\n")
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in FULL:
            sys.stderr.write(f"r-eval: {Unwritable(error.filename or 'the disk', error)}\n")
            sys.exit(1)
        if isinstance(error, OSError) and error.filename is not None:
            sys.stderr.write(f"r-eval: {error.filename}: {error.strerror} (--debug shows where)\n")
            sys.exit(2)
        sys.stderr.write(f"r-eval: internal error: {type(error).__name__}: {error} (--debug shows where)\n")
        sys.exit(70)
    finally:
        _flush()


def _flush() -> None:
    """Write out what is buffered; a reader that went away (a pager, `head`) is no error of ours."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""The `r-eval` command: its table of commands, and how the end of one becomes an exit status.

A command is a module of this package that defines one function of the command's name (`list.py` defines `list_`), whose
signature is its options and whose docstring is its help; or a group, `app`. The module is imported when the command is
used; `--help` prints the table. Results go to standard output, progress and complaints to standard error.
Exit status 0: done; 1: the run is incomplete; 2: the command or a file is wrong; 130: interrupted.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import signal
import sys
import threading
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup
from typer.main import get_command

from r_eval.cli.options import complain, flush_output, keep_output_for_json
from r_eval.errors import ADVICE, Unwritable, UserError, describe_invalid

COMMANDS = {
    "run": "Run a grid, or resume one that was interrupted.",
    "demo": "Run the embedded grid: no network, no key, no GPU.",
    "report": "Write the report of one or more runs: a page, tables and figures.",
    "score": "Score the episodes of a run again.",
    "compare": "Compare systems or runs, paired by question.",
    "show": "List the episodes of a run, or print the transcript of one.",
    "list": "List what a grid can name.",
    "call": "List the query APIs of an environment, or call them.",
    "check": "Check environments, templates, question files and grids for problems.",
    "generate": "Generate questions with gold answers.",
    "new": "Write a runnable starting point for your own domain.",
    "doctor": "Say what is installed, what is missing, and what to type.",
    "serve": "Serve an environment to other programs until Ctrl-C.",
    "data": "Prepare and publish question sets.",
}
SETTINGS = {"help_option_names": ["-h", "--help"]}


class Commands(TyperGroup):
    """The commands, which are imported when they are used; the help comes from the table."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            self.commands[cmd_name] = load_command(cmd_name)
        return self.commands.get(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from pydantic import ValidationError

            if isinstance(error.__cause__, ValidationError):  # in the words of grid files, with the value
                error.message = describe_invalid(error.__cause__.errors()[0])
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from r_eval.plugins import unknown

            ctx.fail(unknown("command", args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def group(help: str | None = None, cls: type[TyperGroup] | None = None, **options: Any) -> typer.Typer:
    """A group of commands."""
    common = {"rich_markup_mode": None, "add_completion": False, "context_settings": SETTINGS}
    return typer.Typer(help=help, cls=cls, no_args_is_help=help is not None, **{**common, **options})


def load_command(name: str) -> Any:
    """The command, or the group, of a module."""
    module = importlib.import_module(f"r_eval.cli.{name}")
    if hasattr(module, "app"):
        return get_command(module.app)
    alone = group()
    alone.command(name, context_settings=SETTINGS)(getattr(module, name, None) or getattr(module, f"{name}_"))
    return get_command(alone)


app = group(
    "Find out which LLM and agent workflow work best in your domain, why the others fail, and which to deploy.",
    Commands,
    name="r-eval",
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from r_eval import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, Option("--debug", help="Show tracebacks; works anywhere in the command.")] = False,
    version: Annotated[bool, Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None: ...


EXIT_SECONDS = 3.0
"""How long the interpreter may wait at its end for threads that do not end."""
SCARCE = {
    "MemoryError": "the process has no memory left: allow it more, or lower connections",
    "can't start new thread": "the system allows no further thread: raise `ulimit -u`, or a container's limit",
}
"""What to do where an error is the machine's, by a part of its class and text."""
OPTION_AT_HOME = re.compile(r"^(--[\w-]+=)(~.*)", re.DOTALL)
"""An option such as --out=~/x, whose ~ a shell leaves alone."""


def main() -> None:
    """Entry point; turns every end into an exit status, and shows no traceback without --debug."""
    _open_closed_streams()
    debug = "--debug" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--debug"]
    arguments = [OPTION_AT_HOME.sub(lambda option: option[1] + os.path.expanduser(option[2]), word) for word in words]  # noqa: PTH111
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if "--json" in arguments:
        keep_output_for_json()
    try:
        app(arguments, prog_name="r-eval", standalone_mode=True)
    except KeyboardInterrupt:
        sys.stderr.write("r-eval: interrupted\n")
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        message, status = _explain(error)
        complain(message)
        sys.exit(status)
    finally:
        flush_output()


def _open_closed_streams() -> None:
    """Give the null device to standard streams that are closed; the next file opened would take their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _explain(error: Exception) -> tuple[str, int]:
    """What is said of an error, and the exit status."""
    if isinstance(error, OSError) and error.errno in ADVICE:
        error = Unwritable(error.filename or "the disk", error)
    if isinstance(error, UserError):
        return str(error), 1 if isinstance(error, Unwritable) else 2
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}", 2
    if advice := next((text for what, text in SCARCE.items() if what in f"{type(error).__name__}: {error}"), None):
        return advice, 1
    return f"internal error: {type(error).__name__}: {error} (--debug shows where)", 70


def script() -> None:
    """The console script: `main`, after which the process ends, whatever threads plug-ins have left behind."""
    status = 0
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
        raise
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a further Ctrl-C would end the ending with a traceback
        exit_within(EXIT_SECONDS, status)


def _interrupt(*_: object) -> None:
    """Handle the first Ctrl-C; a further one in the same instant could lose what wakes an event loop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exit_within(EXIT_SECONDS, 130)
    raise KeyboardInterrupt


def exit_within(seconds: float, status: int) -> None:
    """End the process after that time even if threads of plug-ins hang, which Python would wait for."""
    timer = threading.Timer(seconds, os._exit, (status,))
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # the system allows no further thread
        timer.start()

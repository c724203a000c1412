"""The program `privtally`: its commands, and what its exit codes mean.

0    done
2    the input was refused: one sentence on standard error says what, where and what to do
70   a defect in privtally itself
130  interrupted
141  whoever read standard output stopped reading
143  terminated
"""

import io
import os
import signal
import sys
import traceback
import warnings
from functools import cache
from typing import Annotated, Any

import typer
from typer import Option

from privtally.cli import (
    advice,
    campaigns,
    collect,
    comparing,
    database,
    demonstration,
    documents,
    initial,
    merging,
    privacy,
    reproducing,
    results,
    serving,
    taking_part,
    whole_job,
)
from privtally.cli.commands import Command, Group, reflowed
from privtally.cli.examples import epilog
from privtally.cli.mistakes import UsageError, sentence
from privtally.errors import PrivtallyError
from privtally.version import SOFTWARE

app = typer.Typer(
    name="privtally",
    cls=Group,
    # Typer's own tracebacks print local variables, and those can be somebody's answers.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

START = """\
Ask many questions, learn the totals, never the answers. Start with:

  privtally demo                       see it work on simulated people
  privtally init --from-csv DATA.csv   write down the questions of your data
  privtally run DATA.csv               make answers private, estimate totals
  privtally serve                      ask people in a browser

privtally --help lists all commands; privtally COMMAND --help explains it."""


def _version(wanted: Any) -> None:
    if wanted:
        typer.echo(SOFTWARE)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  # its callback has answered by then
        bool, Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Ask many questions, learn the totals, never the answers."""
    if context.invoked_subcommand is None:
        typer.echo(START)


PANELS = {
    "Start here": (demonstration.demo, initial.init, advice.advise, whole_job.run),
    "Step by step": (
        documents.design,
        collect.privatise,
        collect.tally,
        merging.merge,
        documents.learn,
        documents.refresh,
        results.estimate,
    ),
    "Understand": (documents.show, privacy.audit, privacy.verify, comparing.compare, reproducing.reproduce),
    "Service": (serving.serve, taking_part.submit),
}
for panel, commands in PANELS.items():
    for command in commands:
        shown: Any = {"help": reflowed(command.__doc__), "epilog": epilog(command.__name__)}
        app.command(cls=Command, rich_help_panel=panel, **shown)(command)

for name, group in (("campaign", campaigns.app), ("db", database.app)):
    app.add_typer(group, name=name, rich_help_panel="Service")
    for own in group.registered_commands:
        own.epilog = epilog(f"{name} {own.name or (own.callback.__name__ if own.callback else '')}".replace("_", "-"))


def _sentence(message: Warning | str, *_: Any, **__: Any) -> str:
    """A warning as the program says it: without the line of code."""
    return f"privtally: {message}\n"


@cache
def _program() -> Any:
    """The program, put together once in a process however often it runs."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the program; every refusal ends in one sentence and exit code 2."""
    # Before NumPy is loaded, here and in the processes that share the work: its threads wait for one another, so that
    # beside busy neighbours an estimate takes many times as long. A number that the user has set stays.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # A polite kill unwinds the stack, so that no half-written draft stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    warnings.formatwarning = _sentence
    if sys.stderr is None:  # closed, and the next file that is opened would take its place
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.stderr.write("privtally: standard output is closed; send it to a file, or to /dev/null to lose it\n")
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    code = _run()
    try:
        sys.stdout.flush()
    except OSError:  # said already; Python would try once more and say it in its own words
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run() -> Any:
    """The exit code of the command that was typed."""
    try:
        # Without typer's own frames around mistakes, which are said as every refusal is.
        code = _program()(prog_name="privtally", standalone_mode=False)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return 141
    except SystemExit as end:
        return 141 if end.code == 1 else end.code  # typer and rich exit with 1 where a pipe is closed, and only there
    except UsageError as mistake:
        if mistake.message or isinstance(mistake, typer.BadParameter):  # else the help was printed
            sys.stderr.write(f"privtally: {sentence(mistake)}\n")
        return 2
    except PrivtallyError as refusal:
        sys.stderr.write(f"privtally: {refusal}\n")
        return 2
    except OSError as fault:
        what = "the system refused" if fault.filename is None else f"cannot use {fault.filename}"
        sys.stderr.write(f"privtally: {what}: {fault.strerror or type(fault).__name__}\n")
        return 2
    except Exception as defect:  # noqa: BLE001  # the last line of defence: its message may quote an answer
        sys.stderr.write("".join(traceback.format_tb(defect.__traceback__)))
        kind = type(defect).__name__
        sys.stderr.write(f"privtally: this is a defect ({kind}); please report it with the lines above\n")
        return 70

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
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

import typer
from typer import Option

from privtally.cli import advise, audit, campaigns, init, pipeline, run, service
from privtally.cli.console import Command, Group, UsageError, reflowed, sentence
from privtally.errors import PrivtallyError
from privtally.version import SOFTWARE

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("privtally demo --people 5000",),
    "init": ("privtally init --question 'smokes: no, yes' --question 'age: 0..120 by 10' --optional smokes",),
    "advise": ("privtally advise examples/survey.toml --people 4000 --epsilon 1 --within 5",),
    "run": (
        "privtally run examples/towns.csv --top 3 --plot towns.png",
        "privtally run examples/survey-2.csv --schema examples/survey.toml --epsilon 3 -o job",
    ),
    "design": ("privtally design examples/survey.toml --epsilon 3 --mechanism corr-rr -o plan-1.json",),
    "privatise": ("privtally privatise examples/survey-1.csv --plan plan-1.json -o reports-1.ndjson",),
    "tally": ("privtally tally reports-1.ndjson --plan plan-1.json -o counts-1.json",),
    "merge": (
        "privtally privatise examples/survey-3.csv --plan plan-1.json -o tuesday.ndjson",
        "privtally tally tuesday.ndjson --plan plan-1.json -o tuesday.json",
        "privtally merge counts-1.json tuesday.json -o both.json",
    ),
    "learn": ("privtally learn --phase plan-1.json counts-1.json --people 3600 -o plan-2.json",),
    "refresh": ("privtally refresh plan-1.json plan-2.json -o plan-3.json",),
    "estimate": (
        "privtally estimate --phase plan-1.json counts-1.json --plot estimate.png",
        "privtally estimate job",
        "privtally estimate --phase plan-1.json counts-1.json --pair 'sleeps badly,feels lonely'",
    ),
    "synthesise": ("privtally synthesise plan-1.json counts-1.json --rows 1000 -o synthetic.csv",),
    "show": ("privtally show plan-2.json",),
    "audit": ("privtally audit plan-2.json --certificate certificate.json",),
    "verify": ("privtally verify plan-2.json certificate.json",),
    "compare": ("privtally compare examples/survey-2.csv --schema examples/survey.toml --epsilon 1,3 --runs 5",),
    "reproduce": ("privtally reproduce fig_2 -o reproduction",),
    "campaign create": (
        "privtally campaign create examples/survey.toml --title Health --epsilon 2 --mechanism corr-rr",
    ),
    "campaign list": ("privtally campaign list",),
    "db check": ("privtally db check",),
    "db backup": ("privtally db backup -o copy.db",),
}
"""The commands that run, in this order, where the repository's directory `examples` is."""

PATTERNS: Mapping[str, tuple[str, ...]] = {
    "serve": ("privtally serve --store sqlite:///survey.db",),
    "submit": ("privtally submit --url 'https://HOST/s/ID#TOKEN' --record answers.json",),
    "campaign show": ("privtally campaign show ID --public-url https://HOST",),
    "campaign advance": ("privtally campaign advance ID",),
    "campaign refresh": ("privtally campaign refresh ID",),
    "campaign close": ("privtally campaign close ID",),
    "campaign tokens": ("privtally campaign tokens ID 500 -o tokens.txt",),
    "campaign export": ("privtally campaign export ID -o shares.csv",),
    "campaign delete": ("privtally campaign delete ID --title Health",),
    "db restore": ("privtally db restore copy.db --store sqlite:///new.db",),
    "db new-token": ("privtally db new-token",),
}
"""The commands that need a campaign, a service or a store of one's own."""


def epilog(command: str) -> str:
    """The examples of a command, as its help shows them."""
    lines = EXAMPLES.get(command) or PATTERNS.get(command, ())
    return "\n\n".join([f"Example{'s' if len(lines) > 1 else ''}:", *lines]) if lines else ""


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


def _version(flag: Any) -> None:
    if flag:
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
    "Start here": (run.demo, init.init, advise.advise, run.run),
    "Step by step": (
        pipeline.design,
        pipeline.privatise,
        pipeline.tally,
        pipeline.merge,
        pipeline.learn,
        pipeline.refresh,
        pipeline.estimate,
        pipeline.synthesise,
    ),
    "Understand": (pipeline.show, audit.audit, audit.verify, advise.compare, advise.reproduce),
    "Service": (service.serve, service.submit),
}
for panel, commands in PANELS.items():
    for command in commands:
        shown: Any = {"help": reflowed(command.__doc__), "epilog": epilog(command.__name__)}
        app.command(cls=Command, rich_help_panel=panel, **shown)(command)

for name, group in (("campaign", campaigns.campaign_app), ("db", campaigns.database_app)):
    app.add_typer(group, name=name, rich_help_panel="Service")
    for registered in group.registered_commands:
        registered.epilog = epilog(
            f"{name} {registered.name or (registered.callback.__name__ if registered.callback else '')}".replace(
                "_", "-"
            )
        )


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

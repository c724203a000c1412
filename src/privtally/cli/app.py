"""The program `privtally`: its commands, and what its exit codes mean.

0    done
2    the input was refused: one sentence on standard error says what, where and what to do
70   a defect in privtally itself
130  interrupted
143  terminated
"""

import io
import signal
import sys
import traceback
from typing import Annotated, Any

import typer
from typer import Option

from privtally.cli import (
    advice,
    campaigns,
    collect,
    database,
    demonstration,
    documents,
    experiments,
    initial,
    merging,
    privacy,
    results,
    serving,
    taking_part,
    whole_job,
)
from privtally.cli.options import PhaseOptions
from privtally.errors import PrivtallyError
from privtally.version import SOFTWARE

app = typer.Typer(
    name="privtally",
    no_args_is_help=True,
    # Typer's own tracebacks print local variables, and those can be somebody's answers.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: Any) -> None:
    if wanted:
        typer.echo(SOFTWARE)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Ask many questions, learn the totals, never the answers."""


WHOLE = (demonstration.demo, initial.init, whole_job.run)
STEPS = (
    documents.design,
    collect.privatise,
    collect.tally,
    merging.merge,
    documents.learn,
    documents.refresh,
    results.estimate,
)
INSIGHT = (documents.show, privacy.audit, privacy.verify, experiments.compare, advice.advise, experiments.reproduce)
SERVICE = (serving.serve, taking_part.submit)
for command in WHOLE + STEPS + INSIGHT + SERVICE:
    app.command(cls=PhaseOptions)(command)

app.add_typer(campaigns.app, name="campaign")
app.add_typer(database.app, name="db")


def main() -> None:
    """Run the program; every refusal ends in one sentence and exit code 2."""
    # A polite kill unwinds the stack, so that no half-written draft stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except PrivtallyError as refusal:
        sys.stderr.write(f"privtally: {refusal}\n")
        sys.exit(2)
    except Exception as defect:  # noqa: BLE001  # the last line of defence: its message may quote an answer
        sys.stderr.write("".join(traceback.format_tb(defect.__traceback__)))
        kind = type(defect).__name__
        sys.stderr.write(f"privtally: this is a defect ({kind}); please report it with the lines above\n")
        sys.exit(70)

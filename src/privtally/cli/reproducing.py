"""reproduce: the paper's experiments."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from privtally.cli import options
from privtally.cli.console import announce, err, progress
from privtally.errors import DocumentError

if TYPE_CHECKING:
    from privtally.lab.paper.panels import Conventions


def reproduce(
    ids: Annotated[
        list[str] | None, Argument(metavar="ID…", help="Figures and tables, such as fig_3a or table_6; all if none.")
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="DIR", help="A directory for pictures, CSV files and results.json."),
    ] = None,
    runs: options.RunsOption = 100,
    seed: options.SeedOption = 1,
    data_dir: Annotated[
        Path | None,
        Option(metavar="DIR", help="Where the UCI files are; else PRIVTALLY_DATA_DIR, else they are downloaded."),
    ] = None,
    as_written: Annotated[
        bool, Option("--as-written", help="Follow the paper's text where the published numbers do not.")
    ] = False,
    workers: options.WorkersOption = 0,
    json: options.JsonFlag = False,
) -> None:
    """Repeat the paper's experiments and lay its published numbers beside ours.

    An id such as fig_3 stands for all its panels. The seed alone decides every number.
    """
    from privtally.files import unwritable
    from privtally.lab.paper import reproduce as lab
    from privtally.lab.paper.datasets import data_directory
    from privtally.lab.paper.others import make_other
    from privtally.lab.paper.output import write_other, write_results
    from privtally.plots import estimate as picture

    conventions: Conventions = "as-written" if as_written else "published"
    directory = data_directory(data_dir)
    chosen = lab.choose_ids(ids or [])
    if not ids:
        chosen = _without_missing_data(chosen, directory)
    if not picture.available():
        err.print(f"No pictures: {picture.HOW_TO_INSTALL}.")
    output = output or Path("reproduction-as-written" if as_written else "reproduction")
    try:
        output.mkdir(exist_ok=True)
    except OSError as fault:
        raise DocumentError(unwritable(output, fault)) from None
    with progress("Simulating", lab.point_count(chosen)) as advance:
        how = {"runs": runs, "seed": seed, "workers": workers or os.cpu_count() or 1}
        results = lab.reproduce(chosen, conventions, directory=directory, advance=advance, **how)
    others = [name for name in chosen if name in lab.OTHER_IDS]
    with progress("Drawing", len(chosen)) as advance:
        for done, name in enumerate(others, start=1):
            write_other(name, make_other(name, conventions, directory, draw=picture.available()), output)
            advance(done)
        write_results(results, conventions, output, draw=picture.available())
    summary = lab.root_mean_square_z(results)
    lines = [f"{output}: {len(results):,} results of {runs} runs each, conventions: {conventions}."]
    for kind, by_method in summary.items():
        values = ", ".join(f"{method} {value:.2f}" for method, value in by_method.items())
        lines.append(f"Published {kind} against ours, root-mean-square z: {values}.")
    facts = {"conventions": conventions, "results": len(results), "root_mean_square_z": summary}
    announce(output, facts, "\n".join(lines), json=json)


def _without_missing_data(ids: list[str], directory: Path | None) -> list[str]:
    """All ids but those that need data which is not to be had here; says so."""
    from privtally.lab.paper.datasets import load_dataset
    from privtally.lab.paper.panels import REAL
    from privtally.lab.paper.reproduce import needs_data

    try:
        for name, _ in REAL.values():
            load_dataset(name, directory)
    except DocumentError as absence:
        if directory is not None:
            raise
        left_out = [name for name in ids if needs_data(name)]
        err.print(f"Left out {', '.join(left_out)}: {absence}.")
        return [name for name in ids if name not in left_out]
    return ids

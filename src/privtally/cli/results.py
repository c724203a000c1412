"""estimate: counts -> frequencies."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from privtally.cli.console import beside, err, json_bytes, print_json
from privtally.cli.options import JsonFlag, MethodOption, PhaseOption, PlotOption, TopOption, refuse_without_effect
from privtally.errors import DocumentError

if TYPE_CHECKING:
    from privtally.collector.pairs import PairEstimate, PairEstimates
    from privtally.collector.top import TopEstimate
    from privtally.documents.estimate import Estimate


def estimate(
    context: typer.Context,
    phase: PhaseOption,
    method: MethodOption = "likelihood",
    pair: Annotated[
        str | None, Option(metavar="A,B", help="The two-way table of two questions, from reports that answer both.")
    ] = None,
    pairs: Annotated[bool, Option("--pairs", help="All two-way tables that the reports carry.")] = False,
    top: TopOption = None,
    by_round: Annotated[
        bool,
        Option(
            "--by-round", help="Where a survey was asked again (refresh): the shares of every time, not only the last."
        ),
    ] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Also write it to a .csv or .json file.")
    ] = None,
    plot: PlotOption = None,
    json: JsonFlag = False,
) -> None:
    """Estimate the share of every answer from plans and counts.

    Intervals are 1.96 standard errors to each side, cut off at 0 and 100 %. Those of --top hold for all answers to a
    question at once. --pair and --pairs need reports that answer two questions: those of a first phase, of spl, or with
    several questions a report.
    """
    from privtally.cli import words
    from privtally.collector.estimate import estimate
    from privtally.collector.pairs import estimate_pair, estimate_pairs
    from privtally.collector.top import top as most_frequent
    from privtally.files import check_output, is_stream, read_history, write_whole
    from privtally.plots import estimate as picture
    from privtally.plots import pair as heat_map
    from privtally.plots.rounds import draw_rounds

    # What goes to a device, a pipe or standard output is JSON.
    suffix = ".json" if output is None or is_stream(output) else output.suffix.lower()
    if suffix not in (".csv", ".json"):
        raise DocumentError(f"{output}: an estimate must end in .csv or .json")
    for path in (output, plot):
        check_output(path, phase)
    if plot is not None:
        picture.check_picture_path(plot)
    history = read_history(phase)
    with err.status("Estimating"), ExitStack() as stack:
        result: Estimate | PairEstimate | PairEstimates | TopEstimate
        if pairs:
            refuse_without_effect(context, ["pair", "plot", "top", "by_round"], "with --pairs")
            result, figure = estimate_pairs(history, method), None
        elif pair is not None:
            refuse_without_effect(context, ["top", "by_round"], "with --pair")
            result = estimate_pair(history, *_two_names(pair, history[0][0].schema.names), method)
            figure = None if plot is None else heat_map.draw(result)
        else:
            if top is not None:
                refuse_without_effect(context, ["by_round"], "with --top")
            found = estimate(history, method, by_round=by_round)
            result = found
            if top is not None:
                plain = found if method == "unbiased" else estimate(history, "unbiased")
                result = most_frequent(found, plain, top)
            figure = None
            if plot is not None:
                figure = draw_rounds(found) if by_round else picture.draw(result)
        if plot is not None and figure is not None:
            stack.enter_context(write_whole(plot)).write(picture.render(figure, plot))
        if output is not None:
            table = result.to_csv() if suffix == ".csv" else json_bytes(result)
            stack.enter_context(write_whole(output)).write(table)
    for path in filter(None, (output, plot)):
        err.print(f"Written: {path}")
    console = beside(output)
    if json:
        print_json(result, console)
    else:
        words.describe(result, console)


def _two_names(pair: str, names: Sequence[str]) -> tuple[str, str]:
    """Two attributes' names around a comma, which may stand in a name too."""
    from privtally.exact.wire import normal

    pair = normal(pair)
    exact = [(pair[:place], pair[place + 1 :]) for place, char in enumerate(pair) if char == ","]
    if not exact:
        raise DocumentError("--pair needs two questions with a comma between them: --pair smokes,drinks")
    trimmed = [(one.strip(), two.strip()) for one, two in exact]
    return next((cut for cut in exact + trimmed if set(cut) <= set(names)), trimmed[0])

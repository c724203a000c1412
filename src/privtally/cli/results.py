"""estimate: counts -> frequencies."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from privtally.cli.console import beside, busy, err, print_json
from privtally.cli.options import JsonFlag, MethodOption, PhaseOption, refuse_without_effect
from privtally.errors import DocumentError

if TYPE_CHECKING:
    from rich.console import Console

    from privtally.collector.estimate import Phase

T = TypeVar("T")


def estimate(
    context: typer.Context,
    phase: PhaseOption,
    method: MethodOption = "pooled",
    pair: Annotated[
        str | None,
        typer.Option("--pair", metavar="A,B", help="The two-way table of two attributes instead, from SPL reports."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the estimate to a .csv or .json file.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw it to a .png or .svg file.")] = None,
    json: JsonFlag = False,
) -> None:
    """Estimate how frequent every answer is."""
    from privtally.cli import words
    from privtally.collector.estimate import estimate
    from privtally.files import check_output, read_history, write_whole
    from privtally.plots import estimate as picture

    if output is not None and _suffix(output) not in (".csv", ".json"):
        raise DocumentError(f"{output}: an estimate must end in .csv or .json")
    for path in (output, plot):
        check_output(path, phase)
    if plot is not None:
        picture.check_picture_path(plot)
    history = read_history(phase)
    if pair is not None:
        refuse_without_effect(context, ["method", "plot"], "with --pair")
        _estimate_pair(history, _two_names(pair, history[0][0].schema.names), output, json=json)
        return
    with busy("Estimating"), ExitStack() as stack:
        result = estimate(history, method)
        if output is not None:
            table = result.to_csv() if _suffix(output) == ".csv" else result.dump()
            stack.enter_context(write_whole(output)).write(table)
        if plot is not None:
            stack.enter_context(write_whole(plot)).write(picture.render(picture.draw(result), plot))
    for path in filter(None, (output, plot)):
        err.print(f"Written: {path}")
    _print(result, words.print_estimate, output, json=json)


def _suffix(output: Path) -> str:
    """How the name of an estimate's file ends; what goes to a device, a pipe or standard output is JSON."""
    from privtally.files import is_stream

    return ".json" if is_stream(output) else output.suffix.lower()


def _print(result: T, in_words: Callable[[T, "Console"], None], output: Path | None, *, json: bool) -> None:
    console = beside(output)
    if json:
        print_json(result, console)
    else:
        in_words(result, console)


def _two_names(pair: str, names: Sequence[str]) -> tuple[str, str]:
    """Two attributes' names around a comma, which may stand in a name too."""
    from privtally.schema import normal

    pair = normal(pair)
    places = [place for place, char in enumerate(pair) if char == ","]
    exact = [(pair[:place], pair[place + 1 :]) for place in places]
    cuts = [*exact, *((one.strip(), two.strip()) for one, two in exact)]
    known = [cut for cut in cuts if set(cut) <= set(names)]
    if not cuts:
        raise DocumentError("--pair needs two attributes with a comma between them: --pair smokes,drinks")
    return (known or cuts[len(exact) :])[0]


def _estimate_pair(history: "list[Phase]", names: tuple[str, str], output: Path | None, *, json: bool) -> None:
    import msgspec

    from privtally.cli import words
    from privtally.collector.pairs import estimate_pair
    from privtally.files import write_bytes

    with busy("Estimating"):
        result = estimate_pair(history, *names)
    if output is not None:
        document = msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"
        write_bytes(output, result.to_csv() if _suffix(output) == ".csv" else document)
        err.print(f"Written: {output}")
    _print(result, words.print_pair, output, json=json)

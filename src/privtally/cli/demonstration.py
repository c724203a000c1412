"""demo: simulated people, and what their reports say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from privtally.cli.console import out, progress, write_picture
from privtally.cli.options import EpsilonOption, MechanismOption, MethodOption, within
from privtally.cli.stores import needing_the_extra
from privtally.names import MechanismName, Method

if TYPE_CHECKING:
    from privtally.documents.estimate import Estimate
    from privtally.exact.source import Source
    from privtally.schema import Records


def demo(
    epsilon: EpsilonOption = 2.0,
    mechanism: MechanismOption = "corr-rr",
    method: MethodOption = "likelihood",
    people: Annotated[
        int, Option(metavar="N", help="How many people to simulate.", callback=within(100, 10_000_000))
    ] = 20_000,
    plot: Annotated[Path, Option(metavar="FILE", help="Where the picture goes.")] = Path("privtally-demo.png"),
    seed: Annotated[int | None, Option(metavar="N", help="Repeat the same simulation.")] = None,
    store: Annotated[
        str | None,
        Option(metavar="sqlite:///FILE", help="Let them answer over HTTP, to a service that keeps everything here."),
    ] = None,
) -> None:
    """See it work: simulated people answer four questions, and estimates stand beside the truth.

    With --store a service keeps what they sent, and the administrator's token of a store that is there already stays.
    privtally serve --new-token --store with the same address shows it in a browser. That needs the extra serve.
    """
    from privtally.cli import words
    from privtally.cli.numbers import surer
    from privtally.exact.source import Stream
    from privtally.lab import survey
    from privtally.lab.seed import seeded
    from privtally.plots import estimate as picture

    if picture.available():
        picture.check_picture_path(plot)
    source = Stream.from_system() if seed is None else seeded(seed)
    records = survey.simulate(people, source)
    truth = records.frequencies()
    result = _collected(records, epsilon, mechanism, source, method, store)
    how = "" if store is None else " over HTTP"
    out.print(f"{people:,} simulated people answered four questions{how}.")
    words.print_estimate(result, out, truth)
    out.print(surer(epsilon))
    if picture.available():
        write_picture(picture.draw(result, truth), plot)
    elif store is None:
        out.print(f"No picture: {picture.HOW_TO_INSTALL}.")
    if store is not None:
        kept = store if store.startswith("sqlite:") else "the PostgreSQL database"  # its address may hold a password
        out.print(f"The service has stopped; its store is kept: {kept}")


def _collected(
    records: "Records", epsilon: float, mechanism: MechanismName, source: "Source", method: Method, store: str | None
) -> "Estimate":
    """What the records' reports say, collected in this process or by a service on a store."""
    if store is None:
        from privtally.job import run_campaign

        return run_campaign(records, epsilon, mechanism, source).estimate(method)
    with needing_the_extra():
        from privtally.cli import over_http

    with progress("Answering", len(records)) as advance:
        return over_http.run_campaign(store, records, epsilon, mechanism, source, method=method, advance=advance)

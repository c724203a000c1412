"""Pictures of the documentation that privtally computes itself: python -m tools.pictures docs/images"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privtally.files import read_schema
from privtally.lab.advise import recommend
from privtally.plots.estimate import render
from privtally.plots.style import SERIES, plain_axes
from privtally.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = Path(__file__).parents[1] / "examples/survey.toml"
BUDGETS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
POINTS = (0.2, 0.5, 1, 2, 5, 10, 20, 50)

Errors = Mapping[float, Sequence[float]]
"""For each budget ± percentage points, one for each number of people."""


def main(folder: Path) -> None:
    """Draw every picture into a folder."""
    schema = read_schema(SCHEMA)
    path = folder / "error-by-people.png"
    path.write_bytes(render(draw_errors(expected_errors(schema)), path))


def expected_errors(schema: Schema) -> Errors:
    """What `privtally advise` expects of the campaign that it recommends, for each budget and number of people."""
    return {epsilon: [recommend(schema, epsilon, people).points for people in PEOPLE] for epsilon in BUDGETS}


def draw_errors(errors: Errors) -> "Figure":
    """± percentage points against the number of people, a line for each budget."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    with mpl.rc_context({"font.size": 11}):
        figure = Figure(figsize=(6.4, 4.6), layout="constrained")
        axes = figure.subplots()
        for (epsilon, points), look in zip(errors.items(), SERIES, strict=False):
            axes.plot(PEOPLE, points, markersize=5, **look)
            place: dict[str, Any] = {"xytext": (8, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"ε = {epsilon:g}", (PEOPLE[-1], points[-1]), **place)
        axes.set(xscale="log", yscale="log", xlabel="people who answer", ylabel="expect ± percentage points")
        axes.set(xlim=(PEOPLE[0] * 0.8, PEOPLE[-1] * 4), ylim=(POINTS[0], POINTS[-1]))
        for axis, ticks in ((axes.xaxis, PEOPLE[::2]), (axes.yaxis, POINTS)):
            axis.set_minor_locator(NullLocator())
            axis.set_ticks(ticks, [f"{tick:,g}" if tick < 1_000_000 else "1 million" for tick in ticks])
        plain_axes(axes)
        figure.draw_without_rendering()
    return figure


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""What people read in a terminal: bars in proportion, and no number cut off, however narrow it is."""

import io
import re

import msgspec
import pytest
from rich.console import Console

from privtally.cli import render
from privtally.cli.render import print_pair
from privtally.collector.pairs import PairEstimate
from privtally.documents.estimate import Estimate, Frequencies, Located, Quantile
from privtally.documents.plan import design
from privtally.names import MechanismName
from privtally.schema import Attribute, Schema
from tests.plots.test_estimate import estimate_of
from tests.support import plan_of

WIDTHS = pytest.mark.parametrize("width", [60, 70, 80, 100, 200])
LONG = "a question that somebody phrased at considerable length, with an aside and anunbreakablewordofmanyletters"


def terminal(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, soft_wrap=True)


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    table = [line for line in text.splitlines() if line[:1] in "┃│"]
    assert table
    assert all(len(line) <= console.width for line in table)
    return text


def bar_length(line: str) -> float:
    """The length of a bar, in characters, from its blocks and eighths of blocks."""
    return line.count("█") + sum((9615 - ord(char) + 1) / 8 for char in line if "▉" <= char <= "▏")


@pytest.mark.parametrize("name", ["q", LONG])
@pytest.mark.parametrize(("width", "truth"), [(60, False), (72, True), (80, False), (80, True), (200, False)])
def test_bars_are_in_proportion(width: int, name: str, truth: bool) -> None:
    frequencies = [0.5, 0.77, 0.86, -1.13]
    estimate = estimate_of({name: (frequencies, [0.05] * 4)})
    attribute = msgspec.structs.replace(estimate.attributes[name], labels=("a", LONG, "c", "d"))
    console = terminal(width)
    estimate = msgspec.structs.replace(estimate, attributes={name: attribute})
    render.print_estimate(estimate, console, {name: frequencies} if truth else None)
    lines = printed(console).splitlines()
    lengths = [bar_length(next(line for line in lines if f" {100 * value:.1f} %" in line)) for value in frequencies]
    assert lengths[3] == 0
    scale = lengths[0] / 0.5
    assert scale >= 4
    assert lengths[1] == pytest.approx(0.77 * scale, abs=0.25)
    assert lengths[2] == pytest.approx(0.86 * scale, abs=0.25)
    assert len(set(lengths)) == 4


@pytest.mark.parametrize("width", [40, 60, 80])
def test_numbers_of_an_estimate_are_never_cut(width: int) -> None:
    console = terminal(width)
    render.print_estimate(estimate_of({LONG: ([-0.13, 1.13], [0.02, 0.02])}), console)
    text = printed(console)
    for number in ("-13.0 %", "113.0 %", "-9.1 %", "109.1"):
        assert number in text


@WIDTHS
def test_every_number_of_a_table_of_copies_can_be_read(width: int) -> None:
    plan = plan_of("corr-rr", (3,) * 12)
    console = terminal(width)
    render.describe(plan, console)
    numbers = re.findall(r"\b\d{1,3}\.\d %", printed(console).partition("goes with the chosen one")[2])
    assert len(numbers) == 12 * 11


def test_a_table_of_very_many_attributes_is_bounded_and_says_so() -> None:
    console = terminal(80)
    render.describe(plan_of("corr-rr", (2,) * 60), console)
    text = printed(console)
    assert len(text.splitlines()) < 600
    assert "of 60" in text


@WIDTHS
def test_every_number_of_a_pair_can_be_read(width: int) -> None:
    labels = tuple(f"label {code}" for code in range(9))
    rows = tuple(tuple(1 / 81 for _ in labels) for _ in labels)
    console = terminal(width)
    print_pair(PairEstimate((LONG, "q"), (labels, labels), rows, rows, 100), console)
    assert printed(console).count("1.2 % ± 2.4") == 81


def with_answered(name: str) -> Estimate:
    estimate = estimate_of({name: ([0.5, 0.3, 0.2], [0.05] * 3)})
    answered = Frequencies(("a0", "a1"), (0.625, 0.375), (0.04, 0.04), (0.5, 0.3), (0.7, 0.45))
    quantiles = tuple(Quantile(value, value - 8, value + 8, share) for share, value in ((0.25, 31.5), (0.75, 1_234.5)))
    more = {"answered": answered, "mean": Located(41.25, 38.125, 52.75), "quantiles": quantiles}
    attribute = msgspec.structs.replace(estimate.attributes[name], **more)
    return msgspec.structs.replace(estimate, attributes={name: attribute})


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("truth", [False, True])
def test_what_follows_from_frequencies_is_shown(width: int, truth: bool) -> None:
    console = terminal(width)
    render.print_estimate(with_answered("q"), console, {"q": [0.5, 0.3, 0.2]} if truth else None)
    text = printed(console)
    for number in ("62.5 %", "37.5 %", "30.0–45.0 %", "41.25", "38.12", "52.75", "31.5", "1,234"):
        assert number in text


def test_plain_estimates_have_no_table_of_numbers() -> None:
    console = terminal(80)
    render.print_estimate(estimate_of({"q": ([0.5, 0.5], [0.05] * 2)}), console)
    assert "mean" not in printed(console)


@pytest.mark.parametrize("mechanism", ["smp", "rs-fd"])
@pytest.mark.parametrize(
    ("groups", "pivots", "whole"),
    [(None, 1, True), (None, 2, False), ([["a", "b"], ["c", "d"]], 1, False), ([["a", "b"], ["c", "d"]], 2, False)],
)
def test_a_plan_claims_the_whole_budget_for_an_answer_that_has_it(
    mechanism: MechanismName, groups: list[list[str]] | None, pivots: int, whole: bool
) -> None:
    schema = Schema(tuple(Attribute(name, ("x", "y")) for name in "abcd"))
    console = terminal(200)
    render.describe(design(schema, 2.0, mechanism, groups=groups, pivots=pivots), console)
    text = printed(console)
    assert ("whole budget" in text) == whole
    assert ("each group" in text) == (groups is not None)
    assert ("one random" in text) == (pivots == 1)

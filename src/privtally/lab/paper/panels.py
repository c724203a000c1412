"""The paper's figures and tables as lists of points."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from privtally.lab.paper.experiment import PAPER_METHODS, PaperMethod, Setting
from privtally.lab.population import First, Synthetic

Conventions = Literal["published", "as-written"]

EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5)
THREE_EPSILONS = (0.1, 0.3, 0.5)
CORRELATIONS = (0.1, 0.3, 0.5, 0.7, 0.9)
DIMENSIONS = (2.0, 3.0, 4.0, 5.0, 6.0)
FIGURE_10_RUNS = 8
"""What the jagged curves of Figure 10 look like."""
REAL = {"a": ("Clave", 10_000), "b": ("Mushroom", 8_000), "c": ("Adult", 10_000)}


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, or one budget's rows of a table."""

    id: str
    title: str
    x_name: str
    x: tuple[float, ...]
    setting: Callable[[float], Setting]
    methods: tuple[PaperMethod, ...] = PAPER_METHODS
    published_runs: int = 50
    rows: str = ""
    """Which of a table's rows these are, where the panel is not the whole."""

    @property
    def key(self) -> str:
        """What names the panel among all."""
        return f"{self.id}/{self.rows}" if self.rows else self.id

    @property
    def figure(self) -> str:
        """The figure or table that the panel belongs to."""
        return self.id.rstrip("abc")


@dataclass(frozen=True)
class Choice:
    """What the published numbers do, or what the text says, wherever these differ."""

    conventions: Conventions

    def synthetic(self, kind: str, attributes: float, correlation: float, first: First = "falling") -> Synthetic:
        """SynA or SynB with four labels."""
        written = self.conventions == "as-written"
        return Synthetic(
            "SynA" if kind == "SynA" else "SynB",
            int(attributes),
            4,
            correlation,
            first="falling" if written else first,
            uncopied="others" if written else "domain",
        )

    def setting(self, population: Synthetic | str, people: int, epsilon: float, share: float) -> Setting:
        """A point under these conventions."""
        setting = Setting(population, people, epsilon, share)
        if self.conventions == "as-written":
            setting = replace(setting, rule="proposition", clip_rs_rfd=False)
        return setting


def figure_name(figure: str) -> str:
    """As the paper writes it: Figure 4 for fig_4."""
    kind, number = figure.split("_")
    return f"{'Figure' if kind == 'fig' else 'Table'} {number}"


def panels(conventions: Conventions) -> list[Panel]:
    """Every panel whose points are mean squared errors."""
    choice = Choice(conventions)
    return [
        *_by_epsilon(choice, 3, "SynA", 0.2),
        *_by_epsilon(choice, 4, "SynB", 0.1),
        *_by_dimension(choice, 5, "SynA", 0.9),
        *_by_dimension(choice, 6, "SynB", 0.9),
        *_by_correlation(choice, 7, "SynA"),
        *_by_correlation(choice, 8, "SynB"),
        *_by_share(choice, 9, "SynA", published_runs=50),
        *_by_share(choice, 10, "SynB", published_runs=FIGURE_10_RUNS),
        *_real(choice),
        *_by_dimension(choice, 13, "SynA", 0.1),
        *_by_dimension(choice, 14, "SynB", 0.1),
        *_tables(choice),
    ]


def _three(
    figure: int,
    values: Sequence[float],
    title: str,
    x_name: str,
    x: tuple[float, ...],
    setting: Callable[[float, float], Setting],
    published_runs: int = 50,
) -> list[Panel]:
    """The panels a, b, c of a figure, one for each value; `setting` takes the value and x."""
    return [
        Panel(
            f"fig_{figure}{letter}",
            title.format(value),
            x_name,
            x,
            partial(setting, value),
            published_runs=published_runs,
        )
        for letter, value in zip("abc", values, strict=True)
    ]


def _by_epsilon(choice: Choice, figure: int, kind: str, share: float) -> list[Panel]:
    def setting(rho: float, x: float) -> Setting:
        return choice.setting(choice.synthetic(kind, 4, rho), 20_000, x, share)

    return _three(figure, (0.1, 0.5, 0.9), f"{kind}, ρ = {{}}", "epsilon", EPSILONS, setting)


def _by_dimension(choice: Choice, figure: int, kind: str, rho: float) -> list[Panel]:
    def setting(epsilon: float, x: float) -> Setting:
        return choice.setting(choice.synthetic(kind, x, rho), 20_000, epsilon, 0.2)

    return _three(figure, THREE_EPSILONS, f"{kind}, ρ = {rho}, ε = {{}}", "attributes", DIMENSIONS, setting)


def _by_correlation(choice: Choice, figure: int, kind: str) -> list[Panel]:
    def setting(attributes: float, x: float) -> Setting:
        return choice.setting(choice.synthetic(kind, attributes, x), 20_000, 0.5, 0.2)

    return _three(figure, (2, 3, 4), f"{kind}, d = {{}}, ε = 0.5", "correlation", CORRELATIONS, setting, 200)


def _by_share(choice: Choice, figure: int, kind: str, published_runs: int) -> list[Panel]:
    def setting(epsilon: float, x: float) -> Setting:
        return choice.setting(choice.synthetic(kind, 2, 0.1, "uniform"), 20_000, epsilon, x / 100)

    title, x = f"{kind}, d = 2, ε = {{}}", (10.0, 20.0, 30.0, 40.0, 50.0)
    return _three(figure, THREE_EPSILONS, title, "phase1_percent", x, setting, published_runs)


def _real(choice: Choice) -> list[Panel]:
    def setting(name: str, people: int, x: float) -> Setting:
        return choice.setting(name, people, x, 0.1)

    return [
        Panel(f"fig_11{letter}", name, "epsilon", EPSILONS, partial(setting, name, people))
        for letter, (name, people) in REAL.items()
    ]


def _tables(choice: Choice) -> list[Panel]:
    def setting(kind: str, people: int, epsilon: float, x: float) -> Setting:
        return choice.setting(choice.synthetic(kind, 2, 0.1, "uniform"), people, epsilon, x / 100)

    tables = [(kind, people) for kind in ("SynA", "SynB") for people in (200, 2_000, 20_000)]
    return [
        Panel(
            f"table_{number}",
            f"{kind}, n = {people:,}, ε = {epsilon}",
            "phase1_percent",
            tuple(5.0 * step for step in range(1, 11)),
            partial(setting, kind, people, epsilon),
            methods=("RS+RFD", "Corr-RR"),
            published_runs=100,
            rows=str(epsilon),
        )
        for number, (kind, people) in enumerate(tables, start=4)
        for epsilon in THREE_EPSILONS
    ]


X_LABELS: Mapping[str, str] = {
    "epsilon": "privacy budget ε",
    "attributes": "number of attributes d",
    "correlation": "correlation ρ",
    "phase1_percent": "share of Phase I, %",
}

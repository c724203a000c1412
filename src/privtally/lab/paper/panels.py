"""The paper's figures and tables as lists of points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from privtally.lab.paper.experiment import PAPER_METHODS, PaperMethod, Setting
from privtally.lab.population import First, Synthetic

Conventions = Literal["published", "as-written"]
"""What the published numbers do, or what the text says, wherever these differ."""

EPSILONS, THREE_EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5), (0.1, 0.3, 0.5)
Axis = tuple[str, tuple[float, ...]]
BY_EPSILON: Axis = "epsilon", EPSILONS
BY_DIMENSION: Axis = "attributes", (2.0, 3.0, 4.0, 5.0, 6.0)
BY_CORRELATION: Axis = "correlation", (0.1, 0.3, 0.5, 0.7, 0.9)
BY_FIVES: Axis = "phase1_percent", (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0)
BY_TENS: Axis = "phase1_percent", (10.0, 20.0, 30.0, 40.0, 50.0)
DEFAULTS = {"people": 20_000, "phase1_percent": 20, "attributes": 4, "correlation": 0.1, "first": "falling"}
REAL = {"a": ("Clave", 10_000), "b": ("Mushroom", 8_000), "c": ("Adult", 10_000)}
SYMBOLS = {"attributes": "d", "correlation": "ρ", "epsilon": "ε", "people": "n"}
X_LABELS = {
    "epsilon": "privacy budget ε",
    "attributes": "number of attributes d",
    "correlation": "correlation ρ",
    "phase1_percent": "share of Phase I, %",
}


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, or one budget's rows of a table. `shown` stands in the title, `fixed` does not."""

    conventions: Conventions
    id: str
    data: str
    x_name: str
    x: tuple[float, ...]
    shown: Mapping[str, Any]
    fixed: Mapping[str, Any]
    methods: tuple[PaperMethod, ...] = PAPER_METHODS
    published_runs: int = 50

    @property
    def key(self) -> str:
        """What names the panel among all: a table has a panel for each budget."""
        return f"{self.id}/{self.shown['epsilon']}" if self.id.startswith("table") else self.id

    @property
    def figure(self) -> str:
        return self.id.rstrip("abc")

    @property
    def title(self) -> str:
        """The population and what is the same at every point."""
        return ", ".join([self.data, *(f"{SYMBOLS[name]} = {value:,}" for name, value in self.shown.items())])

    def setting(self, x: float) -> Setting:
        chosen = {**DEFAULTS, **self.shown, **self.fixed, self.x_name: x}
        population: Synthetic | str = self.data
        if self.data in ("SynA", "SynB"):
            drawn = chosen["attributes"], chosen["correlation"], chosen["first"]
            population = synthetic(self.conventions, self.data, *drawn)
        choices: Any = {"rule": "proposition", "clip_rs_rfd": False} if self.conventions == "as-written" else {}
        return Setting(population, chosen["people"], chosen["epsilon"], chosen["phase1_percent"] / 100, **choices)


def synthetic(conventions: Conventions, kind: str, attributes: float, correlation: float, first: First) -> Synthetic:
    """SynA or SynB with four labels."""
    choices: Any = {"uncopied": "others"} if conventions == "as-written" else {"first": first}
    return Synthetic("SynA" if kind == "SynA" else "SynB", int(attributes), 4, correlation, **choices)


def figure_name(figure: str) -> str:
    """As the paper writes it: Figure 4 for fig_4."""
    kind, number = figure.split("_")
    return f"{'Figure' if kind == 'fig' else 'Table'} {number}"


def panels(conventions: Conventions) -> list[Panel]:
    """Every panel whose points are mean squared errors."""

    def figure(
        number: int, data: str, axis: Axis, shown: Sequence[Mapping[str, Any]], published_runs: int = 50, **fixed: Any
    ) -> list[Panel]:
        return [
            Panel(conventions, f"fig_{number}{letter}", data, *axis, each, fixed, published_runs=published_runs)
            for letter, each in zip("abc", shown, strict=True)
        ]

    rho = [{"correlation": rho} for rho in (0.1, 0.5, 0.9)]
    low, high = ([{"correlation": rho, "epsilon": epsilon} for epsilon in THREE_EPSILONS] for rho in (0.1, 0.9))
    dimension = [{"attributes": attributes, "epsilon": 0.5} for attributes in (2, 3, 4)]
    two = [{"attributes": 2, "epsilon": epsilon} for epsilon in THREE_EPSILONS]
    two_uniform = {"attributes": 2, "first": "uniform"}
    return [
        *figure(3, "SynA", BY_EPSILON, rho),
        *figure(4, "SynB", BY_EPSILON, rho, phase1_percent=10),
        *figure(5, "SynA", BY_DIMENSION, high),
        *figure(6, "SynB", BY_DIMENSION, high),
        *figure(7, "SynA", BY_CORRELATION, dimension, published_runs=200),
        *figure(8, "SynB", BY_CORRELATION, dimension, published_runs=200),
        *figure(9, "SynA", BY_TENS, two, first="uniform"),
        *figure(10, "SynB", BY_TENS, two, published_runs=8, first="uniform"),  # its curves are jagged
        *(
            Panel(conventions, f"fig_11{own}", name, *BY_EPSILON, {}, {"people": people, "phase1_percent": 10})
            for own, (name, people) in REAL.items()
        ),
        *figure(13, "SynA", BY_DIMENSION, low),
        *figure(14, "SynB", BY_DIMENSION, low),
        *(
            Panel(conventions, f"table_{number}", data, *BY_FIVES, shown, two_uniform, ("RS+RFD", "Corr-RR"), 100)
            for number, (data, people) in enumerate(product(("SynA", "SynB"), (200, 2_000, 20_000)), start=4)
            for shown in ({"people": people, "epsilon": epsilon} for epsilon in THREE_EPSILONS)
        ),
    ]

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
CORRELATIONS, DIMENSIONS = (0.1, 0.3, 0.5, 0.7, 0.9), (2.0, 3.0, 4.0, 5.0, 6.0)
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
        return _setting(self.conventions, self.data, **{**self.shown, **self.fixed, self.x_name: x})


def synthetic(conventions: Conventions, kind: str, attributes: float, correlation: float, first: First) -> Synthetic:
    """SynA or SynB with four labels."""
    choices: Any = {"uncopied": "others"} if conventions == "as-written" else {"first": first}
    return Synthetic("SynA" if kind == "SynA" else "SynB", int(attributes), 4, correlation, **choices)


def _setting(
    conventions: Conventions,
    data: str,
    *,
    epsilon: float,
    people: int = 20_000,
    phase1_percent: float = 20,
    attributes: float = 4,
    correlation: float = 0.1,
    first: First = "falling",
) -> Setting:
    made = data in ("SynA", "SynB")
    population = synthetic(conventions, data, attributes, correlation, first) if made else data
    choices: Any = {"rule": "proposition", "clip_rs_rfd": False} if conventions == "as-written" else {}
    return Setting(population, people, epsilon, phase1_percent / 100, **choices)


def figure_name(figure: str) -> str:
    """As the paper writes it: Figure 4 for fig_4."""
    kind, number = figure.split("_")
    return f"{'Figure' if kind == 'fig' else 'Table'} {number}"


def panels(conventions: Conventions) -> list[Panel]:
    """Every panel whose points are mean squared errors."""

    def figure(
        number: int,
        data: str,
        x_name: str,
        x: tuple[float, ...],
        shown: Sequence[Mapping[str, Any]],
        published_runs: int = 50,
        **fixed: Any,
    ) -> list[Panel]:
        return [
            Panel(conventions, f"fig_{number}{letter}", data, x_name, x, each, fixed, published_runs=published_runs)
            for letter, each in zip("abc", shown, strict=True)
        ]

    rho = [{"correlation": rho} for rho in (0.1, 0.5, 0.9)]
    low, high = ([{"correlation": rho, "epsilon": epsilon} for epsilon in THREE_EPSILONS] for rho in (0.1, 0.9))
    dimension = [{"attributes": attributes, "epsilon": 0.5} for attributes in (2, 3, 4)]
    two = [{"attributes": 2, "epsilon": epsilon} for epsilon in THREE_EPSILONS]
    percent = tuple(5.0 * step for step in range(1, 11))
    tens = percent[1::2]
    return [
        *figure(3, "SynA", "epsilon", EPSILONS, rho),
        *figure(4, "SynB", "epsilon", EPSILONS, rho, phase1_percent=10),
        *figure(5, "SynA", "attributes", DIMENSIONS, high),
        *figure(6, "SynB", "attributes", DIMENSIONS, high),
        *figure(7, "SynA", "correlation", CORRELATIONS, dimension, published_runs=200),
        *figure(8, "SynB", "correlation", CORRELATIONS, dimension, published_runs=200),
        *figure(9, "SynA", "phase1_percent", tens, two, first="uniform"),
        *figure(10, "SynB", "phase1_percent", tens, two, published_runs=8, first="uniform"),  # its curves are jagged
        *(
            Panel(conventions, f"fig_11{own}", name, "epsilon", EPSILONS, {}, {"people": people, "phase1_percent": 10})
            for own, (name, people) in REAL.items()
        ),
        *figure(13, "SynA", "attributes", DIMENSIONS, low),
        *figure(14, "SynB", "attributes", DIMENSIONS, low),
        *(
            Panel(
                conventions,
                f"table_{number}",
                data,
                "phase1_percent",
                percent,
                {"people": people, "epsilon": epsilon},
                {"attributes": 2, "first": "uniform"},
                methods=("RS+RFD", "Corr-RR"),
                published_runs=100,
            )
            for number, (data, people) in enumerate(product(("SynA", "SynB"), (200, 2_000, 20_000)), start=4)
            for epsilon in THREE_EPSILONS
        ),
    ]

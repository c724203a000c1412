"""The study grid: every mechanism and method on the same people, all projected to the simplex.

`python -m benchmarks.accuracy [--part 0.1] [--runs 6] [--confirm 18] [--settle 90] [--seed 1] [--resume study.json]
[--output study.json]`

Cells are SynA and SynB × (X1 / uncopied) × d × k × ρ × n × ε, and unlike attributes whose frequencies are drawn from
Dirichlet(1) in every run. `--part` runs that part of all cells, chosen by a hash of their names, so that a larger part
contains a smaller one. People are simulated one by one through the product's own sampler and estimators.

Few runs say little about one cell: the squared error of a campaign with two numbers to estimate varies by its own size.
So `--runs` is the number for the most labels, 48 in all, and cells with fewer are run more often in proportion: 12
times as often with two attributes of two labels. `--confirm` runs every cell that seems to exceed a limit again, and
what was seen then counts: the worst of many noisy cells is worse than any of them. `--settle` does so once more for
those that still do. `--resume` takes what was run before for a smaller part, and runs the other cells.
"""

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.collector.estimate import Phase, estimate
from privtally.collector.learn import learn
from privtally.collector.simplex import project_to_simplex
from privtally.collector.tally import count
from privtally.documents.plan import design
from privtally.errors import EstimateError
from privtally.exact.source import Stream
from privtally.lab.advise import Adviser, Expected
from privtally.lab.expectation import prior_populations
from privtally.lab.offers import SHARES, Question
from privtally.lab.paper.datasets import data_directory, load_dataset
from privtally.lab.paper.published import published_error
from privtally.lab.parallel import run_jobs
from privtally.lab.population import Synthetic
from privtally.lab.seed import seeded
from privtally.lab.variants import variants
from privtally.mechanisms import NAMED
from privtally.names import MAX_PIVOT_GUESS, MechanismName, Method, Rule, with_effect
from privtally.participant.respond import respond_many
from privtally.plots.estimate import render
from privtally.privacy.leakage import leakage
from privtally.schema import Records, Schema

Floats = NDArray[np.float64]

PHASE1_SHARE = 0.1
SHAPES = tuple(product((2, 4, 6), (2, 4, 8)))
PEOPLE = (200, 2_000, 20_000, 200_000)
BUDGETS = (0.1, 0.3, 0.5, 1.0, 2.0)
MARGINALS: dict[str, tuple[Any, Any]] = {
    "π/uniform": ("falling", "domain"),
    "π/π": ("falling", "same"),
    "π/reversed π": ("falling", "reversed"),
    "uniform/uniform": ("uniform", "domain"),
}
UNLIKE = "Dirichlet(1)"
MOST_LABELS, FEWEST_LABELS = (pick(d * k for d, k in SHAPES) for pick in (max, min))
MOST_OFTEN = MOST_LABELS // FEWEST_LABELS
"""Cells with the fewest labels are run so many times as often as those with the most."""

Campaign = tuple[MechanismName, Rule | None]
METHODS: dict[Campaign, tuple[Method, ...]] = {
    ("spl", None): ("unbiased", "pooled"),
    ("smp", None): ("unbiased", "pooled"),
    ("rs-fd", None): ("unbiased", "pooled"),
    ("rs-rfd", None): ("paper", "unbiased", "pooled"),
    ("corr-rr", "published"): ("paper", "pooled"),
    ("corr-rr", "proposition"): ("paper", "unbiased", "pooled"),
    ("corr-rr", "robust"): ("paper", "unbiased", "pooled"),
}


@dataclass(frozen=True)
class Cell:
    """One population, number of people and budget."""

    kind: str
    marginals: str
    attributes: int
    size: int
    correlation: float
    people: int
    epsilon: float

    @property
    def place(self) -> float:
        """A number from 0 to 1 that belongs to the cell, whatever else is run."""
        return int.from_bytes(hashlib.sha256(repr(self).encode()).digest()[:8]) / 2**64

    def draw(self, generator: np.random.Generator) -> tuple[NDArray[np.uint8], list[Floats]]:
        """People, and the frequencies of the population that they come from."""
        if self.marginals == UNLIKE:
            laws = list(generator.dirichlet(np.ones(self.size), self.attributes))
            return np.column_stack([generator.choice(self.size, self.people, p=law) for law in laws]).astype(
                np.uint8
            ), laws
        first, uncopied = MARGINALS[self.marginals]
        kind: Any = self.kind
        population = Synthetic(kind, self.attributes, self.size, self.correlation, first, uncopied)
        law = population.draw_laws(1, generator)[0][0]
        people = np.repeat(np.arange(law.size), generator.multinomial(self.people, law.ravel()))
        generator.shuffle(people)
        axes = range(law.ndim)
        marginals = [law.sum(axis=tuple(axis for axis in axes if axis != own)) for own in axes]
        return np.column_stack(np.unravel_index(people, law.shape)).astype(np.uint8), marginals


def cells() -> Iterator[Cell]:
    """The study grid, and the cells of unlike attributes."""
    for kind, marginals, (d, k), rho, n, epsilon in product(
        ("SynA", "SynB"), MARGINALS, SHAPES, (0.1, 0.5, 0.9), PEOPLE, BUDGETS
    ):
        yield Cell(kind, marginals, d, k, rho, n, epsilon)
    for (d, k), n, epsilon in product(SHAPES, PEOPLE, BUDGETS):
        yield Cell("independent", UNLIKE, d, k, 0.0, n, epsilon)


def campaign_of(mechanism: MechanismName) -> Campaign:
    """A mechanism with the rule that is its default."""
    return mechanism, variants([mechanism])[0].rule


def runs_for(attributes: int, size: int, runs: int) -> int:
    """The fewer labels, the more a campaign's error varies, and the more often it is run."""
    return -(-runs * MOST_LABELS // (attributes * size))


def name_of(campaign: Campaign, method: str) -> str:
    """A key for JSON."""
    mechanism, rule = campaign
    return f"{mechanism} {rule} {method}" if rule else f"{mechanism} {method}"


def name_at(share: float) -> str:
    """A key for what advice may choose: Corr-RR by the default rule and method with this share in Phase I."""
    usual = name_of(campaign_of("corr-rr"), "pooled")
    return usual if share == PHASE1_SHARE else f"{usual}, {share:.0%} in Phase I"


def phases_of(
    campaign: Campaign,
    records: Records,
    epsilon: float,
    source: Stream,
    share: float = PHASE1_SHARE,
    max_pivot_guess: float = MAX_PIVOT_GUESS,
    groups: Sequence[Sequence[str]] | None = None,
) -> list[Phase]:
    """A whole campaign, as a collector would run it."""
    mechanism, rule = campaign
    first = design(records.schema, epsilon, mechanism, groups=groups)
    if not NAMED[mechanism].learns:
        return [(first, count(first, respond_many(first, records, source).codes))]
    asked = round(share * len(records))
    one, two = (Records(records.schema, records.codes[part]) for part in (slice(asked), slice(asked, None)))
    counts = count(first, respond_many(first, one, source).codes)
    wanted = {"rule": rule, "max_pivot_guess": AS_PUBLISHED.get(mechanism, max_pivot_guess)}
    second = learn([(first, counts)], people=len(two), **with_effect(mechanism, rule or "robust", wanted))
    return [(first, counts), (second, count(second, respond_many(second, two, source).codes))]


AS_PUBLISHED: dict[MechanismName, float] = {"rs-rfd": 1.0}
"""Mechanisms that others published without a bound on guessing the pivot are compared without one."""

Advice = dict[str, Expected]

SECRECY = {"advised": MAX_PIVOT_GUESS, "advised, pivot known": 1.0}


def schema_of(attributes: int, size: int) -> Schema:
    """Attributes with the same labels."""
    return Schema.of({f"q{own}": [f"a{code}" for code in range(size)] for own in range(attributes)})


def ask(cell: Cell) -> Advice:
    """What `privtally advise` recommends without pilot data."""
    schema = schema_of(cell.attributes, cell.size)
    adviser = Adviser(schema, list(prior_populations(schema).values()))
    return {name: adviser.recommend(Question(cell.people, cell.epsilon, guess)) for name, guess in SECRECY.items()}


Run = tuple[Records, list[Floats], list[Floats], Stream]
"""People, their frequencies, those of the population that they come from, and randomness for their reports."""


def runs_of(cell: Cell, runs: int, seed: int) -> Iterator[Run]:
    """So many draws of a cell's people."""
    schema = schema_of(cell.attributes, cell.size)
    digest = hashlib.sha256(f"{seed} {cell}".encode()).digest()
    generator = np.random.default_rng(int.from_bytes(digest))
    source = seeded(int.from_bytes(digest[:8]))
    for _ in range(runs):
        codes, law = cell.draw(generator)
        truth = [np.bincount(codes[:, own], minlength=cell.size) / len(codes) for own in range(cell.attributes)]
        yield Records(schema, codes), truth, law, source


def run_cell(cell: Cell, runs: int, seed: int, advice: Advice) -> dict[str, Any]:
    """Mean squared errors of every campaign and method, and how often 95 % intervals hold the population's values."""
    errors: dict[str, list[float]] = {}
    covered: dict[str, list[float]] = {}
    for people, truth, law, source in runs_of(cell, runs, seed):
        for campaign, methods in METHODS.items():
            phases = phases_of(campaign, people, cell.epsilon, source)
            for method in methods:
                name = name_of(campaign, method)
                errors.setdefault(name, []).append(score(phases, method, truth, law, covered.setdefault(name, [])))
        for share in SHARES:
            if share != PHASE1_SHARE:
                phases = phases_of(campaign_of("corr-rr"), people, cell.epsilon, source, share)
                errors.setdefault(name_at(share), []).append(score(phases, "pooled", truth, law, []))
        for name, advised in advice.items():
            campaign, chosen = campaign_of(advised.design.mechanism), advised.design.phase1_share
            if advised.design.groups is not None:
                how = (chosen or PHASE1_SHARE, SECRECY[name], advised.design.groups)
                error = score(phases_of(campaign, people, cell.epsilon, source, *how), "pooled", truth, law, [])
            elif chosen is None:
                error = errors[name_of(campaign, "pooled")][-1]
            elif SECRECY[name] == MAX_PIVOT_GUESS:
                error = errors[name_at(chosen)][-1]
            else:
                phases = phases_of(campaign, people, cell.epsilon, source, chosen, SECRECY[name])
                error = score(phases, "pooled", truth, law, [])
            errors.setdefault(name, []).append(error)
    return {
        "cell": asdict(cell),
        "advice": {name: [own.design.mechanism, own.design.phase1_share] for name, own in advice.items()},
        "mse": {name: float(np.mean(values)) for name, values in errors.items()},
        "spread": {name: float(np.std(values) / np.sqrt(runs)) for name, values in errors.items()},
        "coverage": {name: float(np.mean(values)) for name, values in covered.items() if values},
    }


def score(
    phases: list[Phase], method: Method, truth: Sequence[Floats], law: Sequence[Floats], covered: list[float]
) -> float:
    """The mean squared error after projection; `covered` gets how many intervals hold the population's frequency."""
    try:
        found = estimate(phases, method)
    except EstimateError:
        return float(np.mean([(1 / len(own) - own) ** 2 for own in truth]))
    if not found.biased:
        for attribute, own in zip(found.attributes.values(), law, strict=True):
            held = (np.array(attribute.low) <= own) & (own <= np.array(attribute.high))
            covered.append(float(np.mean(held)))
    projected = [project_to_simplex(np.array(attribute.frequencies)) for attribute in found.attributes.values()]
    return float(np.mean([(f - own) ** 2 for f, own in zip(projected, truth, strict=True)]))


COMPARISONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "pooled / paper, proposition": ("corr-rr proposition pooled", ("corr-rr proposition paper",)),
    "pooled / paper, robust": ("corr-rr robust pooled", ("corr-rr robust paper",)),
    "pooled / paper, published": ("corr-rr published pooled", ("corr-rr published paper",)),
    "pooled / better of paper and unbiased, proposition": (
        "corr-rr proposition pooled",
        ("corr-rr proposition paper", "corr-rr proposition unbiased"),
    ),
    "pooled / better of paper and unbiased, robust": (
        "corr-rr robust pooled",
        ("corr-rr robust paper", "corr-rr robust unbiased"),
    ),
    "robust / better of RS+FD and RS+RFD": ("corr-rr robust pooled", ("rs-fd unbiased", "rs-rfd paper")),
    "robust / Corr-RR as published": ("corr-rr robust pooled", ("corr-rr published paper",)),
    "robust / best of SPL, RS+FD, RS+RFD": (
        "corr-rr robust pooled",
        ("spl unbiased", "rs-fd unbiased", "rs-rfd paper"),
    ),
    "robust / SMP pooled": ("corr-rr robust pooled", ("smp pooled",)),
    "advised / best of SPL, RS+FD, RS+RFD": ("advised", ("spl unbiased", "rs-fd unbiased", "rs-rfd paper")),
    "advised / best that may be advised": ("advised", ("spl pooled", "rs-fd pooled", *map(name_at, SHARES))),
    "advised, pivot known / SMP pooled": ("advised, pivot known", ("smp pooled",)),
}

LIMITS = {
    "pooled / better of paper and unbiased, proposition": 1.10,
    "pooled / better of paper and unbiased, robust": 1.10,
    "robust / better of RS+FD and RS+RFD": 1.05,
    "robust / Corr-RR as published": 2.0,
    "advised / best of SPL, RS+FD, RS+RFD": 1.10,
    "advised / best that may be advised": 1.10,
    "advised, pivot known / SMP pooled": 1.0,
}


def ratio(row: dict[str, Any], title: str) -> float:
    """A comparison in one cell."""
    ours, theirs = COMPARISONS[title]
    return float(row["mse"][ours] / min(row["mse"][other] for other in theirs))


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Geometric means and worst cells of every comparison."""
    summary = {}
    for title in COMPARISONS:
        ratios = [ratio(row, title) for row in rows]
        order = np.argsort(ratios)[::-1]
        summary[title] = {
            "geometric_mean": float(np.exp(np.mean(np.log(ratios)))),
            "worst": float(max(ratios)),
            "above_limit": sum(each > LIMITS[title] for each in ratios) if title in LIMITS else None,
            "worst_cells": [{**rows[at]["cell"], "ratio": float(ratios[at])} for at in order[:10]],
        }
    return summary


REAL = {"Clave": "fig_11a", "Mushroom": "fig_11b", "Adult": "fig_11c"}
GUESSED = 20
"""In so many runs the chance that an observer who knows the frequencies names the pivot is computed as well."""
OURS: tuple[Campaign, ...] = (("corr-rr", "robust"), ("spl", None), ("rs-rfd", None), ("smp", None))


def run_real(name: str, epsilon: float, runs: int, seed: int, directory: Path) -> dict[str, Any]:
    """Our campaigns, pooled, on a real table, next to the best error that the authors published for it."""
    records = load_dataset(name, directory)
    truth = [np.array(values) for values in records.frequencies().values()]
    digest = hashlib.sha256(f"{seed} {name} {epsilon}".encode()).digest()
    generator, source = np.random.default_rng(int.from_bytes(digest)), seeded(int.from_bytes(digest[:8]))
    errors: dict[str, list[float]] = {name_of(campaign, "pooled"): [] for campaign in OURS}
    marginals = [[Fraction(float(each)).limit_denominator(1 << 20) for each in own] for own in truth]
    marginals = [[*own[1:], 1 - sum(own[1:], start=Fraction(0))] for own in marginals]
    guesses: dict[str, list[float]] = {}
    for run in range(runs):
        mixed = Records(records.schema, records.codes[generator.permutation(len(records))])
        for campaign in OURS:
            phases = phases_of(campaign, mixed, epsilon, source)
            errors[name_of(campaign, "pooled")].append(score(phases, "pooled", truth, truth, []))
            if NAMED[campaign[0]].learns and run < GUESSED:
                guess = leakage(phases[1][0].sampler, marginals).pivot_guess
                assert guess is not None
                guesses.setdefault(campaign[0], []).append(float(guess))
    published = {
        method: published_error(REAL[name], method, epsilon) for method in ("SPL", "RS+FD", "RS+RFD", "Corr-RR")
    }
    best = min((error, method) for method, error in published.items() if error is not None)
    return {
        "dataset": name,
        "epsilon": epsilon,
        "pivot_guess": {mechanism: float(np.mean(values)) for mechanism, values in guesses.items()},
        "published": best[0],
        "published_method": best[1],
        "mse": {key: float(np.mean(values)) for key, values in errors.items()},
        "spread": {key: float(np.std(values) / np.sqrt(runs)) for key, values in errors.items()},
    }


def uncertainty(row: dict[str, Any], title: str) -> float:
    """The standard error of a comparison."""
    ours, theirs = COMPARISONS[title]
    best = min(theirs, key=lambda other: row["mse"][other])
    error = np.hypot(*(row["spread"][name] / row["mse"][name] for name in (ours, best)))
    return ratio(row, title) * float(error)


def _above(rows: Sequence[dict[str, Any]], title: str) -> str:
    """How many cells are above a limit, of which shapes, and how many of them by two standard errors."""
    above = [row for row in rows if ratio(row, title) > LIMITS[title]]
    found = Counter((row["cell"]["attributes"], row["cell"]["size"]) for row in above)
    text = f"{len(above)} above {LIMITS[title]:.2f}"
    if not above:
        return text
    shapes = ", ".join(f"{many} at {d} × {k}" for (d, k), many in sorted(found.items()))
    surely = sum(ratio(row, title) - 2 * uncertainty(row, title) > LIMITS[title] for row in above)
    return f"{text}: {shapes}; {surely} by two standard errors"


def _cells_above(rows: Sequence[dict[str, Any]]) -> list[str]:
    """A line for every cell above a limit, the worst of each comparison first."""
    lines = []
    for title, limit in LIMITS.items():
        for row in sorted(rows, key=lambda row: -ratio(row, title)):
            if ratio(row, title) > limit:
                cell = Cell(**row["cell"])
                named = f"{cell.kind}, {cell.marginals}" + (f", ρ = {cell.correlation:g}" if cell.correlation else "")
                asked = f"{cell.attributes} × {cell.size}, {cell.people:,}, {cell.epsilon:g}"
                lines.append(
                    f"| {title} | {named} | {asked} | {ratio(row, title):.2f} ± {uncertainty(row, title):.2f} |"
                )
    return lines


def page(content: dict[str, Any]) -> str:
    """The tables of docs/notes/accuracy.md."""
    runs = content["runs"]
    again = "".join(
        f", {more} to {MOST_OFTEN * more} where a limit {seemed} exceeded"
        for more, seemed in ((content["confirm"], "seemed"), (content["settle"], "still seemed"))
        if more
    )
    lines = [
        f"{len(content['cells']):,} cells ({content['part']:.0%} of the grid, seed {content['seed']}), "
        f"{runs} runs each ({MOST_LABELS} labels in all) to {MOST_OFTEN * runs} ({FEWEST_LABELS} labels){again}.",
        "",
        "| mean squared error of / that of | geometric mean | worst cell | cells above a limit, questions × labels |",
        "|---|---|---|---|",
    ]
    for title, found in content["summary"].items():
        many = "" if title not in LIMITS else _above(content["cells"], title)
        lines.append(f"| {title} | {found['geometric_mean']:.2f} | {found['worst']:.2f} | {many} |")
    above = _cells_above(content["cells"])
    if above:
        lines += ["", "Every cell above a limit, with one standard error:", ""]
        lines += ["| comparison | population | questions × labels, people, ε | ratio |", "|---|---|---|---|", *above]
    lines += ["", "| 95 % intervals of | hold the population's frequency |", "|---|---|"]
    lines += [f"| {method} | {share:.1%} |" for method, share in content["coverage"].items()]
    if content["real"]:
        lines += [
            "",
            f"Real tables, {content['real_runs']} runs a point:",
            "",
            "| data | ε | best published | corr-rr (robust, pooled) | spl (pooled) | rs-rfd (pooled) "
            "| smp (pooled, pivot known) | pivot named: corr-rr, rs-rfd |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for row in content["real"]:
            ours = " | ".join(f"{row['mse'][name_of(campaign, 'pooled')]:.2e}" for campaign in OURS)
            best = f"{row['published']:.2e} ({row['published_method']})"
            named = ", ".join(f"{row['pivot_guess'][mechanism]:.0%}" for mechanism in ("corr-rr", "rs-rfd"))
            lines.append(f"| {row['dataset']} | {row['epsilon']:g} | {best} | {ours} | {named} |")
    return "\n".join(lines)


def rewrite(path: Path, program: str, tables: str) -> None:
    """Replace what a program wrote on a page before."""
    head, begin, rest = path.read_text().partition(f"<!-- written by {program} -->")
    _, end, tail = rest.partition("<!-- end -->")
    if not begin or not end:
        raise SystemExit(f"{path} has no place for {program}")
    path.write_text(f"{head}{begin}\n\n{tables}\n\n{end}{tail}")


def draw(rows: Sequence[dict[str, Any]]) -> Any:
    """Every cell's ratio in every comparison."""
    from matplotlib.figure import Figure

    titles = [title for title in COMPARISONS if "SMP" not in title]
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axis = figure.subplots()
    spread = np.random.default_rng(0).uniform(-0.28, 0.28, len(rows))
    for place, title in enumerate(titles):
        ratios = np.array([ratio(row, title) for row in rows])
        axis.plot(ratios, place + spread, ".", color="#0072b2", alpha=0.35, markersize=4, markeredgewidth=0)
        axis.plot(np.exp(np.log(ratios).mean()), place, "D", color="#d55e00", markersize=7)
        if title in LIMITS:
            axis.plot([LIMITS[title]] * 2, [place - 0.4, place + 0.4], color="black", linewidth=1.2)
    axis.axvline(1, color="#7f7f7f", linewidth=0.8, linestyle="--")
    axis.set_xscale("log")
    axis.set_yticks(range(len(titles)), titles)
    axis.invert_yaxis()
    axis.set_xlabel("ratio of mean squared errors (diamond: geometric mean, bar: limit)")
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def _job(cell: Cell, runs: int, seed: int) -> tuple[Cell, int, int, Advice]:
    """A cell's task."""
    return cell, runs_for(cell.attributes, cell.size, runs), seed, ask(cell)


def run_cells(chosen: Sequence[Cell], options: argparse.Namespace) -> list[dict[str, Any]]:
    """What advice and every campaign score in these cells, those that seem to exceed a limit run more often."""

    def advance(done: int) -> None:
        print(f"\r{done} of {len(jobs)} cells", end="", file=sys.stderr, flush=True)

    jobs = [_job(cell, options.runs, options.seed) for cell in chosen]
    rows: list[dict[str, Any]] = run_jobs(run_cell, jobs, options.workers, advance)
    print(file=sys.stderr)
    for stage, runs in enumerate((options.confirm, options.settle), start=1):
        again = [at for at, row in enumerate(rows) if any(ratio(row, title) > limit for title, limit in LIMITS.items())]
        if runs and again:
            print(f"{len(again)} cells again", file=sys.stderr)
            jobs = [_job(chosen[at], runs, options.seed + stage) for at in again]
            for at, row in zip(again, run_jobs(run_cell, jobs, options.workers, advance), strict=True):
                rows[at] = row
            print(file=sys.stderr)
    return rows


def run_tables(runs: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """What our campaigns score on the real tables, if they are here."""
    directory = data_directory(None)
    if directory is None:
        print("The real tables were left out: PRIVTALLY_DATA_DIR names no directory.", file=sys.stderr)
        return []
    points = [(name, epsilon) for name in REAL for epsilon in (0.1, 0.2, 0.3, 0.4, 0.5)]
    tasks = [(*point, runs, options.seed, directory) for point in points]
    found: list[dict[str, Any]] = run_jobs(run_real, tasks, options.workers, lambda _: None)
    return found


HOW = ("runs", "confirm", "settle", "seed")
"""What decides a cell's numbers, besides the code."""


def code_digest() -> str:
    """Of all code that a cell's numbers may depend on."""
    here = Path(__file__)
    digest = hashlib.sha256()
    for path in (here, *sorted((here.parents[1] / "src").rglob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def read_study(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A study that the same code wrote with the same options."""
    found: dict[str, Any] = json.loads(path.read_text())
    other = [f"--{name} {found.get(name)}" for name in HOW if found.get(name) != getattr(options, name)]
    if other:
        raise SystemExit(f"{path} was written with {', '.join(other)}: give the same, or leave out --resume")
    if found.get("code") != code_digest():
        raise SystemExit(f"{path} was written by other code: leave out --resume, and all cells are run")
    return found


def main() -> int:
    """Run the study and write what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=float, default=0.1)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--confirm", type=int, default=18)
    parser.add_argument("--settle", type=int, default=90)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--resume", type=Path, help="what the same code wrote for a smaller part: its cells are kept")
    parser.add_argument("--output", type=Path)
    parser.add_argument(
        "--notes", type=Path, help="docs/notes: rewrite the tables and the picture of accuracy.md there"
    )
    options = parser.parse_args()
    chosen = [cell for cell in cells() if cell.place < options.part]
    before = {"cells": [], "real": []} if options.resume is None else read_study(options.resume, options)
    found = {Cell(**row["cell"]): row for row in before["cells"]}
    left = [cell for cell in chosen if cell not in found]
    found |= zip(left, run_cells(left, options), strict=True)
    rows = [found[cell] for cell in chosen]
    summary = summarise(rows)
    for title, seen in summary.items():
        above = "" if seen["above_limit"] is None else f", {seen['above_limit']} cells above {LIMITS[title]:.2f}"
        print(f"{title:52} geometric mean {seen['geometric_mean']:.3f}, worst {seen['worst']:.2f}{above}")
    coverage = {}
    for name in ("unbiased", "pooled"):
        held = [value for row in rows for key, value in row["coverage"].items() if key.endswith(name)]
        coverage[name] = float(np.mean(held))
        print(f"95 % intervals of {name}: {coverage[name]:.1%} hold the population's frequency")
    many = MOST_OFTEN * max(options.confirm, options.runs, options.settle)
    real = before["real"] or run_tables(many, options)
    for row in real:
        ours = ", ".join(f"{key} {value:.2e}" for key, value in row["mse"].items())
        print(f"{row['dataset']} ε = {row['epsilon']:g}: published {row['published']:.2e}; {ours}")
    content = {
        **{name: getattr(options, name) for name in ("part", *HOW)},
        "code": code_digest(),
        "summary": summary,
        "coverage": coverage,
        "real": real,
        "real_runs": many,
        "cells": rows,
    }
    if options.output is not None:
        options.output.write_text(json.dumps(content, indent=1) + "\n")
    if options.notes is not None:
        rewrite(options.notes / "accuracy.md", "benchmarks/accuracy.py", page(content))
        (options.notes / "accuracy.png").write_bytes(render(draw(rows), options.notes / "accuracy.png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

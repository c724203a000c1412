"""The page `docs/guide/reproduction.md`: what was published, what the conventions give, what the text gives.

Every number on the page comes from two runs of the experiments and from `published.json`; the sentences are ours.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privtally.lab.datasets import load_dataset
from privtally.lab.experiment import PAPER_METHODS, Setting, run_errors
from privtally.lab.panels import EPSILONS, REAL, panels
from privtally.lab.population import Synthetic
from privtally.lab.published import published_error
from privtally.lab.reproduce import Result, choose_ids, reproduce, root_mean_square_z
from privtally.version import SOFTWARE

SHOWS = {
    "fig_3": "error against ε, SynA, d = 4",
    "fig_4": "error against ε, SynB, d = 4",
    "fig_5": "error against d, SynA, ρ = 0.9",
    "fig_6": "error against d, SynB, ρ = 0.9",
    "fig_7": "error against ρ, SynA",
    "fig_8": "error against ρ, SynB",
    "fig_9": "error against Phase I share, SynA, d = 2",
    "fig_10": "error against Phase I share, SynB, d = 2",
    "fig_11": "error against ε, Clave, Mushroom, Adult",
    "fig_13": "error against d, SynA, ρ = 0.1",
    "fig_14": "error against d, SynB, ρ = 0.1",
    "table_4": "Phase I share, SynA, n = 200",
    "table_5": "Phase I share, SynA, n = 2,000",
    "table_6": "Phase I share, SynA, n = 20,000",
    "table_7": "Phase I share, SynB, n = 200",
    "table_8": "Phase I share, SynB, n = 2,000",
    "table_9": "Phase I share, SynB, n = 20,000",
}

CONCLUSIONS = {
    "fig_3": "Reproduced under the conventions. As written, Corr-RR's error is larger.",
    "fig_4": "Baselines reproduced. The three published Corr-RR curves are alike; see below.",
    "fig_5": "Reproduced under the conventions.",
    "fig_6": "Reproduced under the conventions.",
    "fig_7": "No published numbers to compare with.",
    "fig_8": "No published numbers to compare with.",
    "fig_9": "Reproduced with X1 uniform, where every copy probability is unbiased.",
    "fig_10": "The published curves are jagged, as from five to ten runs; they scatter around ours.",
    "fig_11": "Reproduced from the real data.",
    "fig_13": "No published numbers to compare with.",
    "fig_14": "No published numbers to compare with.",
    "table_4": "Reproduced with X1 uniform.",
    "table_5": "Reproduced with X1 uniform.",
    "table_6": "Reproduced with X1 uniform; with the caption's X1 no copy probability gives these numbers.",
    "table_7": "Reproduced with X1 uniform.",
    "table_8": "Reproduced with X1 uniform.",
    "table_9": "Reproduced with X1 uniform.",
}

CONVENTIONS = """\
| what | the text says | what gives the published numbers |
|---|---|---|
| a value that is not copied, SynA and SynB | a different value, uniformly | uniform over the whole domain |
| X1 | (0.4, 0.3, 0.2, 0.1) | that in Figures 3 to 8, 13, 14; uniform in Tables 2 and 4 to 9 and Figures 9, 10 |
| copy probability | Proposition 1 | the formula for two labels, used for any number (`published`) |
| RS+RFD, Phase II | nothing | clipped to [0, 1] and divided by its sum |
| SynB's parents | one of the earlier attributes | drawn once for each attribute |
| Phase I share | 10 to 20 % | 20 % in Figures 3, 5 to 8, 13, 14; 10 % in Figures 4, 11; the x axis elsewhere |
| runs | 100 | 50 in most figures, 200 in Figures 7 and 8, 100 in the tables |"""


def make_report(runs: int, seed: int, directory: Path, workers: int) -> str:
    """The whole page."""
    results = {
        conventions: reproduce(
            choose_ids([]),
            conventions,
            runs=runs,
            seed=seed,
            directory=directory,
            workers=workers,
            advance=lambda _: None,
        )
        for conventions in ("published", "as-written")
    }
    published, written = results["published"], results["as-written"]
    return (
        "\n\n".join(
            [
                "# The paper's experiments, repeated",
                f"Every number on this page was computed by {SOFTWARE} from {runs} runs of each point with seed {seed} "
                "(`make reproduction`). z is (published − our mean) / standard error, where the error is that of both "
                "means; a setting that is right gives a root-mean-square z near 1.",
                "## In short",
                _summary(published, written),
                "With the conventions below, the published numbers follow. They are not all in the text: with the text "
                "as written, Corr-RR and RS+RFD have other errors. SPL and RS+FD hardly depend on these choices.",
                "## Conventions",
                CONVENTIONS,
                "`privtally reproduce` follows the right column, `privtally reproduce --as-written` the middle one; "
                "`results.json` names every choice under `settings`.",
                "## Figure by figure",
                _by_figure(published, written),
                "## Figure 4",
                _figure_4(runs, seed),
                "## Real data",
                _real(published),
                "## Compared with knowing nothing",
                _guess(directory),
                "## What to conclude",
                _conclusions(),
            ]
        )
        + "\n"
    )


def _summary(published: Sequence[Result], written: Sequence[Result]) -> str:
    rows = ["| | method | z, conventions | z, as written |", "|---|---|---|---|"]
    ours, theirs = root_mean_square_z(published), root_mean_square_z(written)
    rows += [
        f"| {kind} | {method} | {ours[kind][method]:.2f} | {theirs[kind][method]:.2f} |"
        for kind in ("tables", "figures")
        for method in ours[kind]
    ]
    return "\n".join(rows) + "\n\n(Without Figure 10, and with the flat lines of Figure 9 counted once.)"


def _by_figure(published: Sequence[Result], written: Sequence[Result]) -> str:
    rows = [
        "| | shows | z RS+RFD | z Corr-RR | as written: z RS+RFD | z Corr-RR | Corr-RR's error as written, ratio | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for figure, shows in SHOWS.items():
        mine = [result for result in published if result.id.rstrip("abc") == figure]
        theirs = [result for result in written if result.id.rstrip("abc") == figure]
        cells = [_z(part, method) for part in (mine, theirs) for method in ("RS+RFD", "Corr-RR")]
        name = figure.replace("fig_", "Figure ").replace("table_", "Table ")
        rows.append(f"| {name} | {shows} | {' | '.join(cells)} | {_ratio(theirs, mine):.2f} | {CONCLUSIONS[figure]} |")
    return "\n".join(rows)


def _z(results: Iterable[Result], method: str) -> str:
    values = [result.z for result in results if result.method == method and result.z is not None]
    return f"{math.sqrt(sum(z * z for z in values) / len(values)):.2f}" if values else "–"


def _ratio(written: Sequence[Result], published: Sequence[Result]) -> float:
    """The geometric mean of Corr-RR's errors as written over those under the conventions."""
    pairs = [(w.mse, p.mse) for w, p in zip(written, published, strict=True) if w.method == "Corr-RR"]
    return math.exp(sum(math.log(one / two) for one, two in pairs) / len(pairs))


def _figure_4(runs: int, seed: int) -> str:
    """The published Corr-RR curves of Figure 4 against each correlation."""
    rows = [
        "| simulated with | z, panel a (ρ = 0.1) | z, panel b (ρ = 0.5) | z, panel c (ρ = 0.9) |",
        "|---|---|---|---|",
    ]
    for rho in (0.1, 0.5, 0.9):
        squares: Mapping[str, list[float]] = {letter: [] for letter in "abc"}
        for epsilon in EPSILONS:
            generator = np.random.default_rng([seed, round(10 * rho), round(10 * epsilon)])
            setting = Setting(Synthetic("SynB", 4, 4, rho), 20_000, epsilon, 0.1)
            errors = run_errors(setting, ("Corr-RR",), 4 * runs, generator)["Corr-RR"]
            spread = float(errors.std()) * math.sqrt(1 / 50 + 1 / len(errors))
            for letter in "abc":
                value = published_error(f"fig_4{letter}", "Corr-RR", epsilon)
                assert value is not None
                squares[letter].append(((value - float(errors.mean())) / spread) ** 2)
        rows.append(f"| ρ = {rho} | " + " | ".join(f"{math.sqrt(np.mean(squares[x])):.2f}" for x in "abc") + " |")
    return (
        "The captions give the three panels ρ = 0.1, 0.5 and 0.9. The published Corr-RR curves hardly differ, and all "
        "three fit ρ = 0.9 best:\n\n" + "\n".join(rows) + "\n\n`privtally reproduce` uses the captions' ρ."
    )


def _real(published: Sequence[Result]) -> str:
    rows = ["| ε = 0.5 | SPL | RS+FD | RS+RFD | Corr-RR |", "|---|---|---|---|---|"]
    for letter, (name, _) in REAL.items():
        points = {r.method: r for r in published if r.id == f"fig_11{letter}" and r.x == 0.5}
        cells = [f"{points[method].mse:.2e} (published {points[method].published:.2e})" for method in PAPER_METHODS]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return (
        f"Corr-RR has the smallest error of the four at ε = 0.1 on {_where_corr_rr_is(min, 0.1, published)}, and the "
        f"largest at ε = 0.5 on {_where_corr_rr_is(max, 0.5, published)}, in the published numbers and in ours. "
        "Copying helps while noise dominates; its bias stays when the noise is gone.\n\n" + "\n".join(rows)
    )


def _where_corr_rr_is(extreme: Any, epsilon: float, published: Sequence[Result]) -> str:
    """The datasets on which Corr-RR's error is the extreme one, both as published and as simulated."""
    names = []
    for letter, (name, _) in REAL.items():
        points = [r for r in published if r.id == f"fig_11{letter}" and r.x == epsilon]
        if all(extreme(points, key=key).method == "Corr-RR" for key in (lambda r: r.mse, lambda r: r.published)):
            names.append(name)
    return ", ".join(names)


def _guess(directory: Path) -> str:
    """How many published errors exceed that of the answer 'every label is equally likely'."""
    counts = dict.fromkeys(PAPER_METHODS, 0)
    total = 0
    for panel in panels("published"):
        if panel.figure not in ("fig_3", "fig_4", "fig_5", "fig_6", "fig_11"):
            continue
        for x in panel.x:
            guess = _guess_error(panel.setting(x), directory)
            total += 1
            for method in PAPER_METHODS:
                value = published_error(panel.key, method, x)
                counts[method] += value is not None and value > guess
    shares = ", ".join(f"{method} {count}" for method, count in counts.items())
    return (
        f"At {total} published points of Figures 3 to 6 and 11 the answer “every label is equally likely”, given "
        f"without asking anybody, has a smaller error than the published one this often: {shares}. Small budgets are "
        "hard; an estimator that uses what it knows need not do much worse than that."
    )


def _guess_error(setting: Setting, directory: Path) -> float:
    if isinstance(setting.population, Synthetic):
        laws, _ = setting.population.draw_laws(1, np.random.default_rng(0))
        law = laws.mean(axis=0)
        axes = range(law.ndim)
        true = [law.sum(axis=tuple(axis for axis in axes if axis != own)) for own in axes]
    else:
        true = [np.array(values) for values in load_dataset(setting.population, directory).frequencies().values()]
    return float(np.mean([np.mean((values - 1 / len(values)) ** 2) for values in true]))


def _conclusions() -> str:
    return (
        "- The published numbers are real: with the conventions above an independent implementation finds them again.\n"
        "- A reader who implements the text gets other numbers: for RS+RFD because the text does not mention the "
        "clipping, for Corr-RR because Proposition 1 chooses other copy probabilities than the formula that was used, "
        "and in the tables because X1 is another.\n"
        "- The tables are a case in which copying cannot hurt: with X1 uniform all attributes have the same "
        "frequencies, and Corr-RR is unbiased whatever it copies. They show its noise, not its bias.\n"
        "- Copying helps where attributes have **alike frequencies**, and at small budgets. Correlation by itself is "
        "not what it uses.\n"
        "- SMP, which says which attribute it answers, is not among the paper's baselines. "
        "`privtally compare` puts all of them side by side on data of one's own."
    )

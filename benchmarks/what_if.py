"""What the published numbers agree with if one choice is another, and if nobody is asked."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from privtally.lab.paper.data import load_dataset, published_error
from privtally.lab.paper.experiments import EPSILONS, PAPER_METHODS, Setting, panels, run_errors
from privtally.lab.population import Synthetic

CHANGES: Mapping[str, Callable[[Setting], Setting]] = {
    "none": lambda setting: setting,
    "Proposition 1": lambda setting: replace(setting, rule="proposition"),
    "a different value when not copied": lambda setting: _with_population(setting, uncopied="others"),
    "X1 = (0.4, 0.3, 0.2, 0.1)": lambda setting: _with_population(setting, first="falling"),
    "RS+RFD not clipped": lambda setting: replace(setting, clip_rs_rfd=False),
}
CHANGED_FIGURES = ("fig_3", "fig_5", "fig_9", "table_6")


def _with_population(setting: Setting, **choices: Any) -> Setting:
    assert isinstance(setting.population, Synthetic)
    return replace(setting, population=replace(setting.population, **choices))


def agreement_by_change(runs: int, seed: int) -> dict[str, dict[str, dict[str, float]]]:
    """The root-mean-square z of each change, figure and method, all else being as published."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for place, (name, change) in enumerate(CHANGES.items()):
        found[name] = {}
        for figure in CHANGED_FIGURES:
            scores: dict[str, list[float]] = {"RS+RFD": [], "Corr-RR": []}
            for panel in (panel for panel in panels("published") if panel.figure == figure):
                for x in panel.x:
                    generator = np.random.default_rng([seed, place, *panel.key.encode(), round(10 * x)])
                    errors = run_errors(change(panel.setting(x)), ("RS+RFD", "Corr-RR"), runs, generator)
                    for method, values in errors.items():
                        scores[method].append(_z_score(panel.key, method, x, values, panel.published_runs))
            found[name][figure] = {method: _root_mean_square(values) for method, values in scores.items()}
    return found


def figure_4_by_correlation(runs: int, seed: int) -> dict[float, dict[str, float]]:
    """The root-mean-square z of the Corr-RR curves of Figure 4's panels, for each correlation simulated."""
    found = {}
    for rho in (0.1, 0.5, 0.9):
        scores: dict[str, list[float]] = {letter: [] for letter in "abc"}
        for epsilon in EPSILONS:
            generator = np.random.default_rng([seed, round(10 * rho), round(10 * epsilon)])
            setting = Setting(Synthetic("SynB", 4, 4, rho), 20_000, epsilon, 0.1)
            errors = run_errors(setting, ("Corr-RR",), 4 * runs, generator)["Corr-RR"]
            for letter in "abc":
                scores[letter].append(_z_score(f"fig_4{letter}", "Corr-RR", epsilon, errors, 50))
        found[rho] = {letter: _root_mean_square(values) for letter, values in scores.items()}
    return found


def _z_score(key: str, method: str, x: float, errors: Any, published_runs: int) -> float:
    """How far a published point is from simulated errors, in standard errors of both."""
    published = published_error(key, method, x)
    assert published is not None
    spread = float(np.std(errors, ddof=1)) * math.sqrt(1 / published_runs + 1 / len(errors))
    return (published - float(np.mean(errors))) / spread


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(np.mean(np.square(values)))


def published_beyond_a_guess(directory: Path) -> tuple[int, dict[str, int]]:
    """How many points of Figures 3 to 6 and 11 there are, and how many published errors of each method exceed that of
    the answer 'every label is equally likely'.
    """
    counts: dict[str, int] = dict.fromkeys(PAPER_METHODS, 0)
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
    return total, counts


def _guess_error(setting: Setting, directory: Path) -> float:
    if isinstance(setting.population, Synthetic):
        laws, which = setting.population.draw_laws(1_000, np.random.default_rng(0))
        marginals = [
            laws.sum(axis=tuple(axis for axis in range(1, laws.ndim) if axis != own)) for own in range(1, laws.ndim)
        ]
        return float(np.mean([np.mean((values - 1 / values.shape[-1]) ** 2, axis=-1)[which] for values in marginals]))
    true = [np.array(values) for values in load_dataset(setting.population, directory).frequencies().values()]
    return float(np.mean([np.mean((values - 1 / len(values)) ** 2) for values in true]))

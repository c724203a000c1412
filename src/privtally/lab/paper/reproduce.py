"""The paper's experiments, point by point, over several processes; the seed alone decides every number."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privtally.errors import DocumentError
from privtally.lab.paper.datasets import load_dataset
from privtally.lab.paper.experiment import PaperMethod, run_errors
from privtally.lab.paper.panels import Conventions, Panel, panels
from privtally.lab.paper.published import published_error
from privtally.lab.parallel import run_jobs
from privtally.lab.population import table_of

OTHER_IDS = ("fig_2", "fig_12a", "fig_12b", "fig_12c", "table_2", "table_3")
"""Figures and tables that show something else than errors."""


@dataclass(frozen=True)
class Result:
    """The mean squared error of one method at one point, next to the published one."""

    id: str
    dataset: str
    method: PaperMethod
    x: float
    x_name: str
    settings: Mapping[str, Any]
    mse: float
    standard_error: float | None
    published: float | None
    z: float | None

    @property
    def figure(self) -> str:
        return self.id.rstrip("abc")


def choose_ids(wanted: Sequence[str]) -> list[str]:
    """The ids that are wanted: all, in the paper's order, if none is named; `fig_3` stands for its three panels."""
    ids = {*(panel.id for panel in panels("published")), *OTHER_IDS}
    known = sorted(ids, key=lambda name: (name.split("_")[0], int(name.split("_")[1].rstrip("abc")), name))
    chosen = []
    for name in wanted or known:
        found = [one for one in known if name in (one, one.rstrip("abc"))]
        if not found:
            raise DocumentError(f"there is no {name!r}; the ids are {', '.join(known)}")
        chosen += found
    return list(dict.fromkeys(chosen))


def reproduce(
    ids: Iterable[str],
    conventions: Conventions,
    *,
    runs: int,
    seed: int,
    directory: Path | None,
    workers: int,
    advance: Callable[[int], None],
) -> list[Result]:
    """Every result of the panels named; the order and the numbers do not depend on the workers."""
    wanted = set(ids)
    jobs = [(panel, x, runs, seed, directory) for panel in panels(conventions) if panel.id in wanted for x in panel.x]
    return [result for results in run_jobs(_point, jobs, workers, advance) for result in results]


def point_count(ids: Iterable[str]) -> int:
    """How many points a call will compute."""
    wanted = set(ids)
    return sum(len(panel.x) for panel in panels("published") if panel.id in wanted)


def _point(panel: Panel, x: float, runs: int, seed: int, directory: Path | None) -> list[Result]:
    setting = panel.setting(x)
    table = table_of(load_dataset(setting.population, directory)) if isinstance(setting.population, str) else None
    # Each point has a generator of its own, from the seed and the point's name.
    name = f"{seed} {panel.conventions} {panel.key} {x:g}"
    generator = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()))
    described = setting.describe() | {"conventions": panel.conventions, "runs": runs, "seed": seed}
    described["published_runs"] = panel.published_runs
    results = []
    for method, errors in run_errors(setting, panel.methods, runs, generator, table).items():
        mean = float(np.mean(errors))
        spread = float(np.std(errors, ddof=1)) if runs > 1 else None
        error = None if spread is None else spread / math.sqrt(runs)
        published, z = published_error(panel.key, method, x), None
        if published is not None and spread:
            z = (published - mean) / (spread * math.sqrt(1 / runs + 1 / panel.published_runs))
        results.append(Result(panel.id, panel.data, method, x, panel.x_name, described, mean, error, published, z))
    return results


def root_mean_square_z(results: Iterable[Result]) -> dict[str, dict[str, float]]:
    """How far the published numbers are from ours, in standard errors: by method, for the tables and for the figures.

    Figure 10, drawn from few runs, is left out, and the lines that are flat in Figure 9 count once.
    """
    groups: dict[str, dict[str, list[float]]] = {}
    for result in results:
        flat = result.figure == "fig_9" and result.method in ("SPL", "RS+FD") and result.x != 10
        if result.z is not None and not flat and result.figure != "fig_10":
            kind = "figures" if result.id.startswith("fig") else "tables"
            groups.setdefault(kind, {}).setdefault(result.method, []).append(result.z)
    return {
        kind: {method: math.sqrt(sum(z * z for z in values) / len(values)) for method, values in by_method.items()}
        for kind, by_method in groups.items()
    }


def needs_data(name: str) -> bool:
    """Whether a figure or table needs the real datasets."""
    return name.startswith(("fig_11", "fig_12")) or name == "table_3"

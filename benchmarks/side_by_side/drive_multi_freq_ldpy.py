"""multi-freq-ldpy as its README shows it: one call of a client for each row of an array, then an aggregator."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from math import expm1, log1p
from typing import Any

import numpy as np
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Aggregator_MI, RSpFD_GRR_Client
from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Aggregator_MI, SMP_GRR_Client
from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Aggregator_MI, SPL_GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_IBU
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_IBU, SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

from benchmarks.side_by_side.driver import Frequencies, Job, Population, Work, main


def records(client: Any, aggregator: Any, population: Population, epsilon: float) -> Work:
    """Whole records by a solution for several attributes."""
    attributes = population.attributes
    sizes = [population.size] * attributes
    data = np.array(population.rows())

    def work() -> Frequencies:
        reports = [client(row, sizes, attributes, epsilon) for row in data]
        found: Frequencies = aggregator(reports, sizes, attributes, epsilon)
        return found

    return work


def same_budget(population: Population, epsilon: float) -> Work:
    """RS+FD whose pivot spends epsilon, as privtally's does: its client spends ln(d(e^ε − 1) + 1) when told ε."""
    told = log1p(expm1(epsilon) / population.attributes)
    return records(RSpFD_GRR_Client, RSpFD_GRR_Aggregator_MI, population, told)


def updated_spl(reports: Any, sizes: list[int], attributes: int, epsilon: float) -> Frequencies:
    """Iterative Bayesian update for each attribute of SPL's reports."""
    columns = zip(*reports, strict=True)
    return [GRR_Aggregator_IBU(list(own), size, epsilon / attributes) for own, size in zip(columns, sizes, strict=True)]


def updated_smp(reports: Any, sizes: list[int], attributes: int, epsilon: float) -> Frequencies:
    """Iterative Bayesian update for those who were asked about each attribute."""
    answers = defaultdict(list)
    for own, answer in reports:
        answers[own].append(answer)
    return [GRR_Aggregator_IBU(answers[own], sizes[own], epsilon) for own in range(attributes)]


def one_attribute(client: Any, aggregator: Callable[..., Any], population: Population, epsilon: float) -> Work:
    """One attribute by a frequency oracle."""
    (column,) = population.columns()
    data, size = np.array(column), population.size

    def work() -> Frequencies:
        return [aggregator([client(code, size, epsilon) for code in data], size, epsilon)]

    return work


def unary(reports: Any, size: int, epsilon: float) -> Any:
    """The aggregator of unary encoding, which reads the number of labels off the reports."""
    del size
    return UE_Aggregator_MI(reports, epsilon)


JOBS: dict[str, Job] = {
    "SPL": partial(records, SPL_GRR_Client, SPL_GRR_Aggregator_MI),
    "SMP": partial(records, SMP_GRR_Client, SMP_GRR_Aggregator_MI),
    "RS+FD": partial(records, RSpFD_GRR_Client, RSpFD_GRR_Aggregator_MI),
    "RS+FD, same budget": same_budget,
    "SPL, IBU": partial(records, SPL_GRR_Client, updated_spl),
    "SMP, IBU": partial(records, SMP_GRR_Client, updated_smp),
    "OUE": partial(one_attribute, UE_Client, unary),
    "OLH": partial(one_attribute, LH_Client, LH_Aggregator_MI),
    "SS": partial(one_attribute, SS_Client, SS_Aggregator_MI),
    "SS, IBU": partial(one_attribute, SS_Client, SS_Aggregator_IBU),
}

if __name__ == "__main__":
    main(JOBS)

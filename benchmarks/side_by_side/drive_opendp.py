"""OpenDP's randomized response: one measurement for each attribute, one call for every person.

It has no estimator for randomized response: the counts and the inversion are ours, in the fewest steps.
"""

from collections import Counter
from math import exp

import opendp.prelude as dp

from benchmarks.side_by_side.driver import Frequencies, Job, Population, Work, main

dp.enable_features("contrib")


def split(population: Population, epsilon: float) -> Work:
    """Each attribute with its share of the budget."""
    size, people, columns = population.size, population.people, population.columns()
    grown = exp(epsilon / population.attributes)
    same, other = grown / (grown + size - 1), 1 / (grown + size - 1)

    def work() -> Frequencies:
        found = []
        for column in columns:
            respond = dp.m.make_randomized_response(list(range(size)), prob=same)
            seen = Counter(map(respond, column))
            found.append([(seen[code] / people - other) / (same - other) for code in range(size)])
        return found

    return work


JOBS: dict[str, Job] = {"randomized response": split}

if __name__ == "__main__":
    main(JOBS)

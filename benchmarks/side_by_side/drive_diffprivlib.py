"""diffprivlib's exponential mechanism for categories, with the same utility for all wrong answers: randomized response.

It is the one mechanism of diffprivlib that answers for a person with any number of labels. There is no estimator for
it: the counts and the inversion are ours, in the fewest steps.
"""

from collections import Counter
from itertools import combinations
from math import exp

from diffprivlib.mechanisms import ExponentialCategorical

from benchmarks.side_by_side.driver import Frequencies, Job, Population, Work, main


def split(population: Population, epsilon: float) -> Work:
    """Each attribute with its share of the budget."""
    people, share = population.people, epsilon / population.attributes
    labels = [f"label {code}" for code in range(population.size)]
    columns = [[labels[code] for code in own] for own in population.columns()]
    same, other = exp(share) / (exp(share) + len(labels) - 1), 1 / (exp(share) + len(labels) - 1)

    def work() -> Frequencies:
        found = []
        for column in columns:
            mechanism = ExponentialCategorical(
                epsilon=share, utility_list=[(one, two, 1.0) for one, two in combinations(labels, 2)]
            )
            seen = Counter(map(mechanism.randomise, column))
            found.append([(seen[label] / people - other) / (same - other) for label in labels])
        return found

    return work


JOBS: dict[str, Job] = {"exponential": split}

if __name__ == "__main__":
    main(JOBS)

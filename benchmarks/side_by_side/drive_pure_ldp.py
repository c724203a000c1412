"""pure-ldp as its README shows it: a client and a server for each attribute, one call each for every person.

It knows one attribute at a time; for a whole record each attribute gets ε/d, which is SPL. Its items count from 1.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

from benchmarks.side_by_side.driver import Frequencies, Job, Population, Work, main

Make = Callable[[float, int], tuple[Any, Any]]
"""Epsilon and number of labels -> client and server."""


def grr(epsilon: float, size: int) -> tuple[Any, Any]:
    """Direct encoding, its name for randomized response."""
    return DEClient(epsilon, size), DEServer(epsilon, size)


def oue(epsilon: float, size: int) -> tuple[Any, Any]:
    """Optimised unary encoding."""
    return UEClient(epsilon, size, use_oue=True), UEServer(epsilon, size, use_oue=True)


def olh(epsilon: float, size: int) -> tuple[Any, Any]:
    """Optimised local hashing."""
    return LHClient(epsilon, size, use_olh=True), LHServer(epsilon, size, use_olh=True)


def split(make: Make, population: Population, epsilon: float) -> Work:
    """Each attribute with its share of the budget."""
    attributes, people = population.attributes, population.people
    columns = [[code + 1 for code in own] for own in population.columns()]
    items = range(1, population.size + 1)

    def work() -> Frequencies:
        found = []
        for column in columns:
            client, server = make(epsilon / attributes, population.size)
            for item in column:
                server.aggregate(client.privatise(item))
            found.append(server.estimate_all(items, suppress_warnings=True) / people)
        return found

    return work


JOBS: dict[str, Job] = {"GRR": partial(split, grr), "OUE": partial(split, oue), "OLH": partial(split, olh)}

if __name__ == "__main__":
    main(JOBS)

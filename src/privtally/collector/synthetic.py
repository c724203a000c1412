"""Synthetic tables: made-up people whose one-way and two-way tables are those of an estimate.

A pair of questions is supported if the chi-square test of its table against independence, with the covariance of what
is inside its margins, rejects at 5 % over all pairs together (Bonferroni), and if its mutual information exceeds what
errors alone give. That of a table T with the margins p and q, whose dependence D = T − p qᵀ has the errors σ, is

    I = Σ T log(T / p qᵀ) − ½ Σ σ² / max(p qᵀ, σ)

where the last term is what noise adds on average, to the second order; a cell expected to be rarer than its own error
counts as that frequent. Pairs with cycles are fitted together where all questions have few labels; else the forest with
the most information is kept (Chow-Liu).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from math import prod
from statistics import NormalDist
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.random import Generator

from privtally.collector import pairs
from privtally.collector.estimate import MOST_LABELS, estimate, one_way, refusing_numerical_failure
from privtally.collector.inverse import project_to_simplex, zero_sum_basis
from privtally.collector.rounds import in_order, in_rounds, tails
from privtally.collector.summaries import Found
from privtally.collector.together import answers_of
from privtally.documents.campaign import History
from privtally.documents.estimate import Library, Provenance, csv_of, frame_of
from privtally.errors import EstimateError
from privtally.exact.randomness import Source
from privtally.exact.types import Codes, Floats, Integers
from privtally.mechanisms.fills import Places
from privtally.schema import Schema, code_type

MOST_CELLS = 1 << 16
"""Pairs with a cycle are fitted together up to so many different records."""
CONTRADICTION = 1e-3
"""Tables that no table of all questions has are off by more than this, once it is fitted to them."""
MOST_ROWS, MOST_REPLICATES = 10_000_000, 500
LEVEL = 0.05
"""How often some pair is supported although no two questions go together."""


class Link(msgspec.Struct, frozen=True):
    """Two questions, how much one says about the other (nats, without what errors give), and the test of that."""

    attributes: tuple[str, str]
    information: float
    p_value: float


class Synthesis(msgspec.Struct, frozen=True, tag_field="format", tag="privtally.synthetic/1"):
    """How a synthetic table was made, and of what."""

    rows: int
    replicates: int
    way: Literal["independent", "tree", "fitted"]
    kept: tuple[Link, ...]
    left_out: tuple[Link, ...]
    """The supported pairs for which a tree has no room."""
    carried: int  # pairs
    people: int
    provenance: Provenance
    notes: tuple[str, ...]

    def __str__(self) -> str:
        kept, left = ("; ".join(" and ".join(link.attributes) for link in own) for own in (self.kept, self.left_out))
        why = f"the errors support none of {self.carried} pairs" if self.carried else "no report answers two questions"
        how = {
            "independent": f"every column by itself, as {why}",
            "tree": f"with the tables of a tree of pairs: {kept}" + f" (no room for {left})" * bool(left),
            "fitted": f"with the tables of these pairs, fitted together: {kept}",
        }[self.way]
        return f"{self.rows:,} made-up people from {self.people:,} private reports, {how}"


@dataclass(frozen=True)
class Synthetic:
    """Made-up people, as codes (row, question), and more such tables, each of an estimate as it might have been too."""

    schema: Schema
    codes: Codes = field(repr=False)
    synthesis: Synthesis
    replicates: tuple["Synthetic", ...] = field(default=(), repr=False)

    def columns(self) -> dict[str, list[str]]:
        """The made-up answers to each question."""
        return {
            own.name: np.array(own.labels, dtype=object)[column].tolist()
            for own, column in zip(self.schema.attributes, self.codes.T, strict=True)
        }

    def to_csv(self) -> bytes:
        """A row for each made-up person."""
        return csv_of(self.schema.names, zip(*self.columns().values(), strict=True))

    def to_frame(self, library: Library | None = None) -> Any:
        """The same as a frame."""
        return frame_of(self.schema.names, list(zip(*self.columns().values(), strict=True)), library)


@dataclass(frozen=True)
class _Table:
    """The table of two questions, as it is and as a proper one, and what it has beyond the product of its margins."""

    found: Floats
    cells: Floats
    margins: Sequence[Floats]
    root: Floats  # of the covariance of the cells for given margins
    beyond: Floats
    errors: Floats
    p_value: float

    @property
    def information(self) -> float:
        product = np.maximum(np.outer(*self.margins), 1e-300)
        surprise = self.cells * np.log(np.where(self.cells > 0, self.cells, product) / product)
        return float(np.sum(surprise - self.errors**2 / np.maximum(product, self.errors) / 2))

    def redrawn(self, margins: Sequence[Floats], generator: Generator) -> Floats:
        """The table with other margins, its inside redrawn from its errors."""
        first, second = (new - old for new, old in zip(margins, self.margins, strict=True))
        rows, columns = self.cells.shape
        noise = (self.root @ generator.standard_normal(self.root.shape[1])).reshape(rows, columns)
        return pairs.fitted(self.found + first[:, None] / columns + second / rows + noise, margins[0], margins[1])


def _table(history: History, alone: Found, one: int, two: int) -> _Table | None:
    """The table of two questions; None if it is too large for a matrix of covariances, or no report carries it."""
    margins = alone.frequencies[one], alone.frequencies[two]
    large = len(margins[0]) * len(margins[1]) > pairs.MOST_JOINT_CELLS
    found = None if large else pairs.consistent_table(history, one, two, alone)
    if found is None:
        return None
    basis = np.kron(*(zero_sum_basis([len(margin)]) for margin in margins))
    if (together := answers_of(history)) is not None:
        covariance = together.inside(one, two)
    else:
        tables = (pairs.carried(phase, one, two) for phase in history)
        covariance = pairs.combined([table for table in tables if table is not None]).covariance
    inside = basis.T @ covariance @ basis
    # The product of the margins has errors too: to the first order those of one margin times the other.
    first, second = (margin[:, None] for margin in margins)
    slopes = basis.T @ np.hstack([np.kron(np.eye(len(first)), second), np.kron(first, np.eye(len(second)))])
    spread = inside + slopes @ _covariance(alone, (one, two)) @ slopes.T
    beyond = found.frequencies - np.outer(*margins)
    within = basis.T @ beyond.ravel()
    variances = np.einsum("ci,ij,cj->c", basis, spread, basis, optimize=True).reshape(beyond.shape)
    return _Table(
        found=found.frequencies,
        cells=pairs.fitted(found.frequencies, *margins),
        margins=margins,
        root=basis @ _root(inside),
        beyond=beyond,
        errors=np.sqrt(np.maximum(variances, 1e-300)),
        p_value=float(tails(float(within @ np.linalg.solve(spread, within)), len(within))[0]),
    )


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0))
    return root


def _covariance(alone: Found, places: Sequence[int]) -> Floats:
    """The covariance of the frequencies of some questions; where it is not known, their variances alone."""
    blocks = [[alone.covariance(one, two) for two in places] for one in places]
    if all(block is not None for row in blocks for block in row):
        return np.block([[np.asarray(block) for block in row] for row in blocks])
    # Of what nobody was asked anything may be true.
    return np.diag(np.minimum(np.concatenate([alone.variances[place] for place in places]), 0.25))


def _evidence(history: History) -> tuple[History, Found, dict[Places, _Table], list[Places]]:
    """What the last round says about every question alone and each two together, and the supported pairs in order."""
    history = in_rounds(in_order(history))[-1]
    alone = one_way(history, "likelihood")
    found = {pair: _table(history, alone, *pair) for pair in combinations(range(len(alone.frequencies)), 2)}
    tables: dict[Places, _Table] = {pair: table for pair, table in found.items() if table is not None}
    level = LEVEL / max(len(tables), 1)
    supported = [pair for pair, table in tables.items() if table.p_value <= level and table.information > 0]
    return history, alone, tables, sorted(supported, key=lambda pair: -tables[pair].information)


def _forest(pairs: Sequence[Places]) -> list[Places]:
    """The pairs in order, without those that close a cycle."""
    kept: list[Places] = []
    tree_of: dict[int, int] = {}
    for pair in pairs:
        one, two = (tree_of.setdefault(place, place) for place in pair)
        if one != two:
            kept.append(pair)
            tree_of = {place: one if tree == two else tree for place, tree in tree_of.items()}
    return kept


def _drawn(expected: Floats, generator: Generator) -> list[Integers]:
    """For each row codes in random order, each as often as expected, rounded up or down (systematic sampling)."""
    sums = expected.cumsum(axis=1)
    total = np.rint(sums[:, -1:])
    steps = np.minimum(np.floor(sums + generator.random((len(sums), 1))), total)
    steps[:, -1:] = total
    counts = np.diff(steps, axis=1, prepend=0).astype(np.int64)
    return [generator.permutation(np.repeat(np.arange(len(own)), own)) for own in counts]


def _together(alone: Sequence[Floats], tables: dict[Places, Floats], rows: int, generator: Generator) -> Codes:
    """Rows with all these tables, as far as some table has them all; single questions come last in every round."""
    single: dict[Places, Floats] = {(place,): own for place, own in enumerate(alone)}
    joint = pairs.proportional(reduce(np.multiply.outer, alone), {**tables, **single}, close=1e-7)
    (cells,) = _drawn(joint.reshape(1, -1) / joint.sum() * rows, generator)
    return np.column_stack(np.unravel_index(cells, joint.shape)).astype(code_type(joint.shape))


def _has_table(alone: Sequence[Floats], tables: dict[Places, Floats]) -> bool:
    """Whether some table of all questions has all these tables; noisy ones may contradict each other."""
    joint = pairs.proportional(reduce(np.multiply.outer, alone), tables, close=1e-7)
    axes = range(joint.ndim)
    found = {pair: joint.sum(axis=tuple(axis for axis in axes if axis not in pair)) for pair in tables}
    return all(np.abs(found[pair] - tables[pair]).max() < CONTRADICTION for pair in tables)


def _in_trees(alone: Sequence[Floats], tables: dict[Places, Floats], rows: int, generator: Generator) -> Codes:
    """Rows with the tables of a forest: of every tree one column, and the others each given one before it."""
    sizes, todo = [len(own) for own in alone], [*range(len(alone))]
    codes, done = np.empty((rows, len(sizes)), dtype=code_type(sizes)), set[int]()
    while todo:
        one = todo.pop(0)
        if one not in done:
            (codes[:, one],) = _drawn(alone[one][None, :] * rows, generator)
            done.add(one)
        for pair in (pair for pair in tables if one in pair and not done >= {*pair}):
            two = sum(pair) - one
            table = tables[pair] if pair[0] == one else tables[pair].T
            sums = table.sum(axis=1, keepdims=True)
            given = np.divide(table, sums, out=np.tile(alone[two], (sizes[one], 1)), where=sums > 0)
            people = np.bincount(codes[:, one], minlength=sizes[one])
            for label, drawn in enumerate(_drawn(given * people[:, None], generator)):
                codes[codes[:, one] == label, two] = drawn
            done.add(two)
            todo.insert(0, two)
    return codes


def _named(history: History, tables: Collection[Places], keep: Sequence[Sequence[str]]) -> list[Places]:
    """The places of pairs by name, refused if reports do not carry them."""
    names, found = history[0][0].schema.names, list[Places]()
    for pair in keep:
        if len(pair) != 2:
            raise EstimateError(f"a pair to keep needs two questions, got {len(pair)}: {', '.join(pair)}")
        pairs.estimate_pair(history, pair[0], pair[1])
        found.append(tuple(sorted(names.index(name) for name in pair)))
        if found[-1] not in tables:
            raise EstimateError(f"'{pair[0]}' and '{pair[1]}' have too many answers for a table to keep; leave it out")
    return [*dict.fromkeys(found)]


@refusing_numerical_failure(EstimateError)
def synthetic(
    history: History, rows: int, source: Source, *, keep: Sequence[Sequence[str]] = (), replicates: int = 0
) -> Synthetic:
    """A table of made-up people: single questions and the tables of the kept pairs are those of the estimate.

    The pairs that `keep` names are kept whatever the reports say, and so are those that the reports support.
    Each of so many replicates is a table of the estimate redrawn from its own errors, with the same pairs.
    """
    if not 1 <= rows <= MOST_ROWS or not 0 <= replicates <= MOST_REPLICATES:
        raise EstimateError(f"a synthetic table has 1 to {MOST_ROWS:,} rows and up to {MOST_REPLICATES} replicates")
    said = estimate(history)
    history, alone, tables, supported = _evidence(history)
    schema, named = history[0][0].schema, _named(history, tables, keep)
    wanted = [*dict.fromkeys([*named, *supported])]
    ring = _forest(wanted) != wanted and prod(schema.sizes) <= MOST_CELLS
    ring = ring and _has_table(alone.frequencies, {pair: tables[pair].cells for pair in wanted})
    if not ring and _forest(named) != named:
        raise EstimateError(
            f"the pairs to keep form a ring, and there are more than {MOST_CELLS:,} different records or the errors of "
            "these tables contradict each other; keep fewer"
        )
    kept = wanted if ring else _forest(wanted)

    def links(chosen: Sequence[Places]) -> tuple[Link, ...]:
        found = [((schema.names[one], schema.names[two]), tables[one, two]) for one, two in chosen]
        return tuple(Link(names, own.information, own.p_value) for names, own in found)

    synthesis = Synthesis(
        rows=rows,
        replicates=replicates,
        way="fitted" if ring else "tree" if kept else "independent",
        kept=links(kept),
        left_out=links([pair for pair in supported if pair not in kept]),
        carried=len(tables),
        people=sum(counts.reports for _, counts in history),
        provenance=said.provenance,
        notes=said.notes,
    )
    generator = np.random.default_rng(source.words(4).tolist())
    draw = _together if ring else _in_trees
    codes = draw(alone.frequencies, {pair: tables[pair].cells for pair in kept}, rows, generator)
    others, ends = [], np.cumsum(schema.sizes)[:-1]
    if replicates and sum(schema.sizes) > MOST_LABELS:
        raise EstimateError(f"replicates need questions with at most {MOST_LABELS:,} answers in all; make none")
    root = _root(_covariance(alone, range(len(schema.sizes)))) if replicates else np.zeros((0, 0))
    for _ in range(replicates):
        noise = np.split(root @ generator.standard_normal(len(root)), ends)
        own = [project_to_simplex(a + b) for a, b in zip(alone.frequencies, noise, strict=True)]
        redrawn = {pair: tables[pair].redrawn([own[place] for place in pair], generator) for pair in kept}
        others.append(Synthetic(schema, draw(own, redrawn, rows, generator), synthesis))
    return Synthetic(schema, codes, synthesis, tuple(others))


@refusing_numerical_failure(EstimateError)
def going_together(history: History) -> list[str]:
    """A sentence for each supported pair of which a single cell is clear of the errors, the strongest pair first."""
    history, _, tables, supported = _evidence(history)
    bound = NormalDist().inv_cdf(1 - LEVEL / 2 / max(sum(table.cells.size for table in tables.values()), 1))
    found = []
    for pair in supported:
        table, attributes = tables[pair], [history[0][0].schema.attributes[place] for place in pair]
        clear = table.beyond / table.errors
        place = one, two = divmod(int(clear.argmax()), clear.shape[1])
        people, both = float(table.margins[0][one]), float(table.cells[place])
        if clear[place] >= bound and 0 < people < 1:
            among, others = 100 * both / people, 100 * (float(table.margins[1][two]) - both) / (1 - people)
            first, second = (f"'{own.name}: {own.labels[code]}'" for own, code in zip(attributes, place, strict=True))
            found.append(f"People who say {first} more often say {second}: {among:.0f} % against {others:.0f} %.")
    return found

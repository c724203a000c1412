"""Synthetic tables: made-up people whose one-way and two-way tables are those of an estimate.

A pair of questions is supported if the chi-square test of its table against independence, with the covariance of what
is inside its margins, rejects at 5 % over all pairs together (Bonferroni), and if its mutual information exceeds what
errors alone give. That of a table T with the margins p and q, whose dependence D = T − p qᵀ has the errors σ, is

    I = Σ T log(T / p qᵀ) − ½ Σ σ² / max(p qᵀ, σ)

where the last term is the mean of the noise's part to the second order; a cell that is expected to be rarer than its
own error counts as frequent as that. Pairs without cycles give one law of largest entropy, a forest. Pairs with cycles
are fitted together where all questions have few labels; else the forest with the most information is kept (Chow-Liu).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from statistics import NormalDist
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.random import Generator

from privtally.collector.estimate import MOST_LABELS, estimate, one_way, refusing_numerical_failure
from privtally.collector.inverse import project_to_simplex, zero_sum_basis
from privtally.collector.pairs import (
    MOST_JOINT_CELLS,
    carried,
    combined,
    consistent_table,
    estimate_pair,
    fitted,
    proportional,
)
from privtally.collector.rounds import in_order, in_rounds, tails
from privtally.collector.summaries import Found
from privtally.collector.together import JointTable, answers_of
from privtally.documents.campaign import History
from privtally.documents.estimate import Library, Provenance, csv_of, frame_of
from privtally.errors import EstimateError
from privtally.exact.randomness import Source
from privtally.exact.types import Codes, Floats, Integers
from privtally.mechanisms.fills import Places
from privtally.schema import Schema, code_type

MOST_CELLS = 1 << 16
"""Pairs with a cycle are fitted together up to so many different records."""
MOST_ROWS, MOST_REPLICATES = 10_000_000, 1_000
LEVEL = 0.05
"""How often some pair is supported although no two questions go together."""
_CLOSE = 1e-7

Way = Literal["independent", "tree", "fitted"]


class Link(msgspec.Struct, frozen=True):
    """Two questions, how much one says about the other in nats, without what errors give, and the test of that."""

    attributes: tuple[str, str]
    information: float
    p_value: float
    supported: bool


class Synthesis(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="privtally.synthetic/1"
):
    """How a synthetic table was made, and of what."""

    rows: int
    replicates: int
    way: Way
    kept: tuple[Link, ...]
    """The pairs whose tables the rows have."""
    left_out: tuple[Link, ...]
    """The supported pairs for which the tree has no room."""
    people: int
    provenance: Provenance
    notes: tuple[str, ...]

    def __str__(self) -> str:
        names = "; ".join(" and ".join(link.attributes) for link in self.kept)
        how = {
            "independent": "every column by itself (independent), as these reports support no pair",
            "tree": f"with the tables of a tree of pairs: {names}",
            "fitted": f"with the tables of these pairs, fitted together: {names}",
        }[self.way]
        return f"{self.rows:,} rows of made-up people from {self.people:,} private reports, {how}"

    def dump(self) -> bytes:
        """The document, laid out for reading."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


@dataclass(frozen=True, repr=False)
class Synthetic:
    """Made-up people, as codes (row, question), and more such tables, each of an estimate as it might have been too."""

    schema: Schema
    codes: Codes
    replicates: tuple[Codes, ...]
    synthesis: Synthesis

    def columns(self) -> dict[str, list[str]]:
        """The made-up answers to each question."""
        return {
            own.name: np.array(own.labels, dtype=object)[column].tolist()
            for own, column in zip(self.schema.attributes, self.codes.T, strict=True)
        }

    def each(self) -> Iterator["Synthetic"]:
        """Every replicate as a table of its own."""
        return (Synthetic(self.schema, codes, (), self.synthesis) for codes in self.replicates)

    def to_csv(self) -> bytes:
        """A row for each made-up person."""
        return csv_of(self.schema.names, zip(*self.columns().values(), strict=True))

    def to_frame(self, library: Library | None = None) -> Any:
        """The same as a frame."""
        return frame_of(self.schema.names, list(zip(*self.columns().values(), strict=True)), library)

    def __repr__(self) -> str:
        return str(self.synthesis)


@dataclass(frozen=True)
class _Table:
    """The table of two questions: its proper estimate, and its dependence with the covariance of that.

    Without a basis of what is inside its margins it is too large for a matrix of covariances, and never supported.
    """

    places: Places
    cells: Floats
    found: JointTable
    margins: tuple[Floats, Floats]
    basis: Floats | None
    inside: Floats
    spread: Floats
    """The covariance of the dependence in the coordinates of the basis; `inside` is that of the cells for given
    margins.
    """

    @cached_property
    def dependence(self) -> Floats:
        basis = np.zeros((self.cells.size, 0)) if self.basis is None else self.basis
        coordinates: Floats = basis.T @ (self.found.frequencies - np.outer(*self.margins)).ravel()
        return coordinates

    @cached_property
    def errors(self) -> Floats:
        """The standard error of the dependence in every cell."""
        if self.basis is None:
            return np.sqrt(self.found.variances)
        variances = np.einsum("ci,ij,cj->c", self.basis, self.spread, self.basis, optimize=True)
        found: Floats = np.sqrt(np.maximum(variances, 0)).reshape(self.cells.shape)
        return found

    @cached_property
    def p_value(self) -> float:
        if self.basis is None:
            return 1.0
        square = float(self.dependence @ np.linalg.solve(self.spread, self.dependence))
        return float(tails(square, len(self.dependence))[0])

    @cached_property
    def information(self) -> float:
        product = np.outer(*self.margins)
        ratio = np.divide(self.cells, product, out=np.ones_like(product), where=(product > 0) & (self.cells > 0))
        bias = np.sum(self.errors**2 / np.maximum(np.maximum(product, self.errors), 1e-300)) / 2
        return float(np.sum(self.cells * np.log(ratio)) - bias)

    @cached_property
    def root(self) -> Floats:
        return _root(self.inside)

    def redrawn(self, margins: tuple[Floats, Floats], generator: Generator) -> Floats:
        """The table with other margins, its inside redrawn from its errors."""
        noise = self.root @ generator.standard_normal(len(self.root)) if self.basis is not None else None
        if noise is None or self.basis is None:
            noise = np.sqrt(self.found.variances.ravel()) * generator.standard_normal(self.cells.size)
        else:
            noise = self.basis @ noise
        moved = [(new - old)[:, None] for new, old in zip(margins, self.margins, strict=True)]
        rows, columns = self.cells.shape
        table = self.found.frequencies + moved[0] / columns + moved[1].T / rows + noise.reshape(rows, columns)
        return fitted(table, *margins)


@dataclass(frozen=True)
class _Evidence:
    """What one round says about every question alone and each two together."""

    history: History
    alone: Found
    tables: dict[Places, _Table]

    @property
    def schema(self) -> Schema:
        return self.history[0][0].schema

    @property
    def supported(self) -> list[Places]:
        """The supported pairs, that with the most information first."""
        level = LEVEL / max(len(self.tables), 1)
        pairs = [pair for pair, table in self.tables.items() if table.p_value <= level and table.information > 0]
        return sorted(pairs, key=lambda pair: -self.tables[pair].information)

    def links(self, pairs: Sequence[Places]) -> tuple[Link, ...]:
        names, supported = self.schema.names, self.supported
        return tuple(
            Link(
                (names[pair[0]], names[pair[1]]),
                self.tables[pair].information,
                self.tables[pair].p_value,
                pair in supported,
            )
            for pair in pairs
        )

    @cached_property
    def root(self) -> Floats | None:
        """A root of the covariance of all frequencies; None where it is too large or not known."""
        places, sizes = range(len(self.schema.sizes)), self.schema.sizes
        if sum(sizes) > MOST_LABELS:
            return None
        blocks = [[self.alone.covariance(one, two) for two in places] for one in places]
        if any(block is None for row in blocks for block in row):
            return None
        return _root(np.block([[np.asarray(block) for block in row] for row in blocks]))

    def redrawn(self, generator: Generator) -> list[Floats]:
        """The frequencies of every question, redrawn from their errors."""
        centre = np.concatenate(self.alone.frequencies)
        if self.root is not None:
            noise = self.root @ generator.standard_normal(len(centre))
        else:
            errors = np.sqrt(np.minimum(np.concatenate(self.alone.variances), 0.25))  # anything may be true
            noise = errors * generator.standard_normal(len(centre))
        return list(map(project_to_simplex, np.split(centre + noise, np.cumsum(self.schema.sizes)[:-1])))


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0))
    return root


def _evidence(history: History) -> _Evidence:
    history = in_rounds(in_order(history))[-1]
    alone = one_way(history, "likelihood")
    pairs = combinations(range(len(alone.frequencies)), 2)
    tables = {pair: table for pair in pairs if (table := _table_of(history, alone, pair)) is not None}
    return _Evidence(history, alone, tables)


def _table_of(history: History, alone: Found, pair: Places) -> _Table | None:
    one, two = pair
    found = consistent_table(history, one, two, alone)
    if found is None:
        return None
    margins = alone.frequencies[one], alone.frequencies[two]
    cells = fitted(found.frequencies, *margins)
    if cells.size > MOST_JOINT_CELLS:
        return _Table(pair, cells, found, margins, None, np.zeros((0, 0)), np.zeros((0, 0)))
    bases = [zero_sum_basis([size]) for size in cells.shape]
    basis = np.kron(*bases)
    together = answers_of(history)
    if together is not None:
        cell_covariance = together.inside(one, two)
    else:
        carrying = [table for phase in history if (table := carried(phase, one, two)) is not None]
        cell_covariance = combined(carrying).covariance
    inside = basis.T @ cell_covariance @ basis
    # The product of the margins has errors too: to the first order those of one margin times the other.
    first, second = (own.T @ margin for own, margin in zip(bases, margins, strict=True))
    slopes = np.hstack([np.kron(np.eye(len(first)), second[:, None]), np.kron(first[:, None], np.eye(len(second)))])
    spread = inside + slopes @ _covariance(alone, pair, bases) @ slopes.T
    return _Table(pair, cells, found, margins, basis, inside, spread)


def _covariance(alone: Found, pair: Places, bases: Sequence[Floats]) -> Floats:
    """The covariance of two questions' frequencies in the coordinates of their bases."""
    blocks = []
    for one, own in zip(pair, bases, strict=True):
        row = []
        for two, other in zip(pair, bases, strict=True):
            found = alone.covariance(one, two)
            if found is None:
                found = np.diag(alone.variances[one]) if one == two else np.zeros((len(own), len(other)))
            row.append(own.T @ found @ other)
        blocks.append(row)
    whole: Floats = np.block(blocks)
    return whole


def _forest(pairs: Sequence[Places]) -> list[Places]:
    """The pairs in order, without those that close a cycle."""
    kept: list[Places] = []
    tree_of: dict[int, int] = {}
    for one, two in pairs:
        ends = [tree_of.setdefault(place, place) for place in (one, two)]
        if ends[0] != ends[1]:
            kept.append((one, two))
            tree_of = {place: ends[0] if tree == ends[1] else tree for place, tree in tree_of.items()}
    return kept


def _chosen(evidence: _Evidence, named: Sequence[Places]) -> tuple[Way, list[Places]]:
    """Which pairs are kept, those that are named first, and in which way."""
    pairs = [*dict.fromkeys([*named, *evidence.supported])]
    forest = _forest(pairs)
    if forest == pairs:
        return ("tree" if pairs else "independent"), pairs
    if prod(evidence.schema.sizes) <= MOST_CELLS:
        return "fitted", pairs
    if len(_forest(named)) < len(named):
        raise EstimateError(
            f"the pairs to keep form a ring, and these questions have more than {MOST_CELLS:,} different records; "
            "leave one of the pairs out"
        )
    return "tree", forest


def _rounded(expected: Floats, generator: Generator) -> Integers:
    """Whole numbers with the sums of the rows, each its expectation rounded up or down (systematic sampling)."""
    sums = expected.cumsum(axis=1)
    total = np.rint(sums[:, -1:])
    steps = np.minimum(np.floor(sums + generator.random((len(sums), 1))), total)
    steps[:, -1:] = total
    return np.diff(steps, axis=1, prepend=0).astype(np.int64)


def _rows(
    sizes: Sequence[int], alone: Sequence[Floats], tables: dict[Places, Floats], way: Way, rows: int, draw: Generator
) -> Codes:
    """Rows with these frequencies and two-way tables."""
    if way == "fitted":
        joint = np.ones(())
        for own in alone:
            joint = np.multiply.outer(joint, own)
        joint = proportional(joint, tables, _CLOSE)
        counts = _rounded(joint.reshape(1, -1) / joint.sum() * rows, draw)[0]
        cells = draw.permutation(np.repeat(np.arange(len(counts)), counts))
        return np.column_stack(np.unravel_index(cells, sizes)).astype(code_type(sizes))
    codes = np.empty((rows, len(sizes)), dtype=code_type(sizes))
    done: set[int] = set()
    for root in range(len(sizes)):
        if root in done:
            continue
        shares = alone[root][None, :]
        codes[:, root] = draw.permutation(np.repeat(np.arange(sizes[root]), _rounded(shares * rows, draw)[0]))
        todo = [root]
        while todo:
            one = todo.pop()
            done.add(one)
            for pair in tables:
                if one not in pair or (two := sum(pair) - one) in done:
                    continue
                table = tables[pair] if pair[0] == one else tables[pair].T
                sums = table.sum(axis=1, keepdims=True)
                given = np.where(sums > 0, table / np.where(sums > 0, sums, 1), alone[two])
                people = np.bincount(codes[:, one], minlength=sizes[one])
                for label, counts in enumerate(_rounded(given * people[:, None], draw)):
                    drawn = draw.permutation(np.repeat(np.arange(sizes[two]), counts))
                    codes[codes[:, one] == label, two] = drawn
                todo.append(two)
    return codes


def _named(history: History, keep: Sequence[Sequence[str]]) -> list[Places]:
    """The places of pairs by name, refused if reports do not carry them."""
    names = history[0][0].schema.names
    found = []
    for pair in keep:
        if len(pair) != 2:
            raise EstimateError(f"a pair to keep needs two questions, got {len(pair)}: {', '.join(pair)}")
        estimate_pair(history, *pair)
        one, two = sorted(names.index(name) for name in pair)
        found.append((one, two))
    return found


@refusing_numerical_failure(EstimateError)
def synthetic(
    history: History, rows: int, source: Source, *, keep: Sequence[Sequence[str]] = (), replicates: int = 0
) -> Synthetic:
    """A table of made-up people: single questions and the tables of the kept pairs are those of the estimate.

    The pairs that `keep` names are kept whatever the reports say, and so are those that the reports support.
    Each of so many replicates is a table of the estimate redrawn from its own errors, with the same pairs.
    """
    if not 1 <= rows <= MOST_ROWS or not 0 <= replicates <= MOST_REPLICATES:
        raise EstimateError(f"a synthetic table has 1 to {MOST_ROWS:,} rows and up to {MOST_REPLICATES:,} replicates")
    said = estimate(history)
    evidence = _evidence(history)
    named = _named(evidence.history, keep)
    way, pairs = _chosen(evidence, named)
    draw = np.random.default_rng(source.words(4).tolist())
    alone, tables = evidence.alone.frequencies, {pair: evidence.tables[pair] for pair in pairs}
    sizes = evidence.schema.sizes
    codes = _rows(sizes, alone, {pair: table.cells for pair, table in tables.items()}, way, rows, draw)
    more = []
    for _ in range(replicates):
        other = evidence.redrawn(draw)
        again = {pair: table.redrawn((other[pair[0]], other[pair[1]]), draw) for pair, table in tables.items()}
        more.append(_rows(sizes, other, again, way, rows, draw))
    synthesis = Synthesis(
        rows=rows,
        replicates=replicates,
        way=way,
        kept=evidence.links(pairs),
        left_out=evidence.links([pair for pair in evidence.supported if pair not in pairs]),
        people=sum(counts.reports for _, counts in evidence.history),
        provenance=said.provenance,
        notes=said.notes,
    )
    return Synthetic(evidence.schema, codes, tuple(more), synthesis)


@refusing_numerical_failure(EstimateError)
def going_together(history: History) -> list[str]:
    """A sentence for each supported pair, that with the most information first, where a single cell supports one."""
    evidence = _evidence(history)
    cells = sum(table.cells.size for table in evidence.tables.values())
    bound = NormalDist().inv_cdf(1 - LEVEL / 2 / max(cells, 1))
    found = []
    for pair in evidence.supported:
        table, attributes = evidence.tables[pair], [evidence.schema.attributes[place] for place in pair]
        beyond = table.found.frequencies - np.outer(*table.margins)
        score = np.divide(beyond, table.errors, out=np.zeros_like(beyond), where=table.errors > 0)
        one, two = (int(place) for place in np.unravel_index(score.argmax(), score.shape))
        people = float(table.margins[0][one])
        if score[one, two] < bound or not 0 < people < 1:
            continue
        both = float(table.cells[one, two])
        among, others = both / people, (float(table.margins[1][two]) - both) / (1 - people)
        said = [f"'{own.name}: {own.labels[code]}'" for own, code in zip(attributes, (one, two), strict=True)]
        found.append(
            f"People who say {said[0]} more often say {said[1]}: {100 * among:.0f} % against {100 * others:.0f} %."
        )
    return found

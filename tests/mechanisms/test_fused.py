"""Compiled draws against plain ones: the same words must give the same reports, for every plan there is."""

from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from privtally.exact.source import Source, Taken, Words
from privtally.lab.seed import seeded
from privtally.mechanisms import Mechanism, build, fused, mechanism
from privtally.mechanisms.fills import AnyFill, SilentFill, UniformFill
from privtally.mechanisms.fused import FusedPart, fuse
from privtally.mechanisms.kernel import compiled
from privtally.names import MechanismName
from tests.edges import AtEdges, edges_of
from tests.support import EXTENSIONS, Scripted, cases, fill_of, part_of, plan_of

PEOPLE = 1_500
BY_PLAIN_PATH = ("aligned", "large", "lines")
"""What the names of extensions begin with whose channels take several words."""


@pytest.fixture(autouse=True)
def _several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "CHUNK", 1_000)


@pytest.fixture
def plain_paths(monkeypatch: pytest.MonkeyPatch) -> list[Words]:
    """The words with which compiled code gave up."""
    taken: list[Words] = []

    class Seen(Taken):
        def __init__(self, words: Words, source: Source) -> None:
            super().__init__(words, source)
            taken.append(words)

    monkeypatch.setattr(fused, "Taken", Seen)
    return taken


def some_records(sampler: Mechanism, people: int = PEOPLE) -> NDArray[np.uint16]:
    return np.random.default_rng(2).integers(0, sampler.sizes, (people, sampler.width), dtype=np.uint16)


def assert_same(sampler: Mechanism, one: Source, two: Source) -> None:
    records = some_records(sampler)
    plain = sampler.privatise(records, one, fused=False)
    compiled = sampler.privatise(records, two, fused=True)
    assert plain.dtype == compiled.dtype
    assert np.array_equal(plain, compiled)
    assert np.array_equal(one.words(3), two.words(3))  # both stopped at the same word


def assert_same_at_edges(sampler: Mechanism, plain_paths: list[Words]) -> None:
    assert_same(sampler, seeded(1), seeded(1))
    edges = edges_of(sampler, rejected=False)
    assert_same(sampler, AtEdges(edges), AtEdges(edges))
    assert not plain_paths
    edges = edges_of(sampler, rejected=True)
    assert_same(sampler, AtEdges(edges), AtEdges(edges))


@pytest.mark.parametrize(("name", "sizes"), cases([(2, 2), (4, 4, 4, 4), (2, 3, 4)]))
def test_named_mechanisms_draw_the_same(name: MechanismName, sizes: tuple[int, ...], plain_paths: list[Words]) -> None:
    sampler = plan_of(name, sizes).sampler
    assert all(map(fuse, sampler.parts))
    assert_same_at_edges(sampler, plain_paths)
    assert plain_paths  # the last words, some of which must be drawn again


@pytest.mark.parametrize("size", [16, 17, 128])
@pytest.mark.parametrize("name", ["smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr"])
def test_many_labels_draw_the_same(name: MechanismName, size: int, plain_paths: list[Words]) -> None:
    fills: dict[str, AnyFill] = {"smp": SilentFill(), "rs-fd": UniformFill()}
    part = part_of((1, 0), 1, fills.get(name) or fill_of(name, (size, size)))
    sampler = build((part,), (size, size), Fraction(1))
    assert all(map(fuse, sampler.parts))
    assert_same_at_edges(sampler, plain_paths)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_any_parts_pivots_and_channels_draw_the_same(name: str, plain_paths: list[Words]) -> None:
    sampler = EXTENSIONS[name](1.0)
    assert all(map(fuse, sampler.parts)) != name.startswith(BY_PLAIN_PATH)
    assert_same_at_edges(sampler, plain_paths)


@pytest.mark.parametrize("size", [129, 300])
def test_more_labels_than_a_byte_takes_leave_other_parts_compiled(size: int) -> None:
    sampler = build((part_of((1,), 1, None), part_of((0, 2), 1, UniformFill())), (3, size, 2), Fraction(1))
    assert [fuse(part) is not None for part in sampler.parts] == [False, True]
    assert_same(sampler, seeded(1), seeded(1))


def test_records_of_any_type_and_layout_draw_the_same() -> None:
    sampler = plan_of("corr-rr", (4, 4, 4)).sampler
    records = some_records(sampler)
    expected = sampler.privatise(records, seeded(1), fused=False)
    shapes = (records, np.asfortranarray(records), np.repeat(records, 2, axis=0)[::2])
    for each in shapes:
        for kind in (np.uint8, np.uint16, np.int64):
            other: Any = each.astype(kind, order="K")
            assert np.array_equal(sampler.privatise(other, seeded(1), fused=True), expected)


def test_nobody_at_all_draws_nothing() -> None:
    sampler = plan_of("corr-rr", (4, 4, 4)).sampler
    assert sampler.privatise(some_records(sampler, 0), Scripted([]), fused=True).shape == (0, 3)


def test_compiled_code_is_used_from_the_number_of_records_on_where_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    monkeypatch.setattr(mechanism, "REPAYING", 10)
    monkeypatch.setattr(FusedPart, "draw", lambda _self, codes, _room, _source: drawn.append(codes.shape[1]))
    sampler = plan_of("rs-fd", (4, 4, 4)).sampler
    for people in (9, 10):
        sampler.privatise(some_records(sampler, people), seeded(1))
    assert drawn == [10]


def test_without_numba_the_plain_path_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    part = plan_of("spl", (2, 2)).sampler.parts[0]
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", 1)
        assert fuse(part) is None
    monkeypatch.setattr(fused, "find_spec", lambda _name: None)
    assert fuse(part) is None
    sampler = plan_of("spl", (2, 2)).sampler
    assert_same(sampler, seeded(1), seeded(1))


def test_code_is_compiled_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made = numba.njit

    def nowhere(*, nogil: bool, cache: bool = False) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return made(nogil=nogil)

    monkeypatch.setattr(numba, "njit", nowhere)
    assert compiled(_next)(4) == 5


def _next(number: int) -> int:
    return number + 1


def test_taken_words_come_before_the_sources_next() -> None:
    source = Taken(np.array([1, 2, 3], dtype=np.uint64), Scripted([4, 5, 6, 7]))
    assert [source.words(count).tolist() for count in (2, 3, 0, 2)] == [[1, 2], [3, 4, 5], [], [6, 7]]


def test_a_part_converts_its_own_columns_only() -> None:
    """With a part for each of 100 questions everything would be converted 100 times."""

    class Wide(np.ndarray):
        def astype(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("the whole table is converted")

    sampler = plan_of("spl", (3, 2, 4)).sampler
    records = some_records(sampler).T
    plain, compiled = np.empty(records.shape, dtype=np.uint8), np.empty(records.shape, dtype=np.uint8)
    for part in sampler.parts:
        fast = fuse(part)
        assert fast is not None
        part.draw(records, plain, seeded(1))
        fast.draw(records.view(Wide), compiled, seeded(1))
    assert np.array_equal(plain, compiled)

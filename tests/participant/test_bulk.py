"""Reports in bulk: everybody answered once, in order, by workers that share no key, in bounded memory."""

from collections.abc import Iterator
from itertools import repeat

import numpy as np
import pytest
from numpy.typing import NDArray

from privtally.errors import RecordError
from privtally.exact.randomness import Stream
from privtally.participant import respond
from privtally.participant.respond import WAITING, respond_in_bulk
from tests.support import chi_square_p, first_plan, plan_of

Batch = NDArray[np.uint8]


def alike(record: tuple[int, ...], people: int) -> Batch:
    return np.tile(np.array(record, dtype=np.uint8), (people, 1))


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_come_back_in_order_and_follow_the_law(workers: int) -> None:
    plan = plan_of("corr-rr", (3, 3, 3))
    records = [(0, 1, 2), (2, 2, 0)] * 5
    batches = (alike(record, 4_000 + number) for number, record in enumerate(records))
    reports = list(respond_in_bulk(plan, batches, workers))
    assert [len(batch) for batch in reports] == [4_000 + number for number in range(10)]
    for own, other in ((0, 1), (1, 0)):
        codes = np.concatenate([batch.codes for batch in reports[own::2]])
        assert chi_square_p(codes, plan.mechanism.law(records[own])) > 1e-9
        assert chi_square_p(codes, plan.mechanism.law(records[other])) < 1e-9
    ids = np.concatenate([batch.ids for batch in reports])
    assert len(np.unique(ids, axis=0)) == len(ids)


def test_each_worker_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Stream] = []

    class Seen(Stream):
        @classmethod
        def from_system(cls) -> Stream:
            made.append(Stream.from_system())
            return made[-1]

    monkeypatch.setattr(respond, "Stream", Seen)
    list(respond_in_bulk(first_plan((2, 2)), [alike((0, 1), 10)] * 20, workers=3))
    assert len(made) == 3


def test_few_batches_wait_at_a_time() -> None:
    read, answered = 0, 0

    def batches() -> Iterator[Batch]:
        nonlocal read
        for _ in range(50):
            assert read - answered <= WAITING * 2
            read += 1
            yield alike((0, 1), 5)

    for _ in respond_in_bulk(first_plan((2, 2)), batches(), workers=2):
        answered += 1
    assert (read, answered) == (50, 50)


def test_who_stops_reading_stops_the_work() -> None:
    reports = respond_in_bulk(first_plan((2, 2)), repeat(alike((0, 1), 5)), workers=2)
    next(reports)
    reports.close()  # type: ignore[attr-defined]  # a generator, which the type does not say
    with pytest.raises(StopIteration):
        next(reports)


def test_a_batch_that_does_not_fit_is_refused_in_its_turn() -> None:
    reports = respond_in_bulk(first_plan((2, 2)), [alike((0, 1), 5), alike((0, 2), 5)], workers=2)
    assert len(next(reports)) == 5
    with pytest.raises(RecordError, match="q1"):
        next(reports)


def test_a_fault_of_the_input_ends_the_work() -> None:
    def batches() -> Iterator[Batch]:
        yield alike((0, 1), 5)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(respond_in_bulk(first_plan((2, 2)), batches(), workers=2))


def test_there_is_at_least_one_worker() -> None:
    with pytest.raises(ValueError, match="worker"):
        next(respond_in_bulk(first_plan((2, 2)), [], workers=0))

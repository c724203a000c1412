"""Reports in bulk, on several cores and in constant memory."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from privtally.documents.plan import Plan
from privtally.documents.report import Reports
from privtally.exact.arrays import Codes
from privtally.exact.source import Stream
from privtally.participant.respond import respond_many
from privtally.schema import Records

WAITING = 2
"""How many batches a worker has at most, the one that it works on included."""


def respond_in_bulk(plan: Plan, batches: Iterable[Codes], workers: int = 1) -> Iterator[Reports]:
    """The reports of batches of raw codes (person, attribute), in the order of the batches.

    Each worker is a thread with a stream of its own, under a key from the operating system. No more than `WAITING`
    batches a worker are in memory; batches of some 100,000 people or more keep the workers busy.
    """
    if workers < 1:
        raise ValueError(f"there must be at least one worker, got {workers}")
    streams: SimpleQueue[Stream] = SimpleQueue()
    for _ in range(workers):
        streams.put(Stream.from_system())

    def privatise(codes: Codes) -> Reports:
        stream = streams.get()
        try:
            return respond_many(plan, Records(plan.schema, codes), stream)
        finally:
            streams.put(stream)

    waiting: deque[Future[Reports]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for codes in batches:
                waiting.append(pool.submit(privatise, codes))
                if len(waiting) >= WAITING * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

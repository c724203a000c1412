"""Intake: whatever reports wait go into one transaction, and are acknowledged once that is on disk."""

import asyncio
from collections.abc import Sequence
from functools import partial

from privtally.errors import UnavailableError
from privtally.store.accept import Arrival, Outcome, RacedError, accept
from privtally.store.defects import log_defect
from privtally.store.folding import fold_all
from privtally.store.session import Store
from privtally.store.tallies import FOLD_AFTER

MOST_IN_GROUP = 20_000
MOST_WAITING = 100_000
"""How many reports may wait; more are refused for now."""
_MOST_RACES = 10


class Intake:
    """Groups of reports for one store. Nothing is acknowledged unless its whole group is on disk."""

    def __init__(self, store: Store, most_waiting: int = MOST_WAITING) -> None:
        self._store, self._most_waiting = store, most_waiting
        self._queue: asyncio.Queue[tuple[Sequence[Arrival], asyncio.Future[list[Outcome]]]] = asyncio.Queue()
        self._uncounted = 0
        self._ended = False
        self.waiting = 0

    async def accept(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """What became of each report; refused for now where too many wait or the store fails."""
        self.check()
        if not arrivals:
            return []
        if self.waiting + len(arrivals) > self._most_waiting:
            raise UnavailableError("too many reports are waiting; nothing was stored, try again in a moment")
        done: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.waiting += len(arrivals)
        self._queue.put_nowait((arrivals, done))
        return await done

    def check(self) -> None:
        """Refuse for now if nothing stores reports any more."""
        if self._ended:
            raise UnavailableError("the intake of reports has ended; start the service again")

    async def run(self) -> None:
        """Store group after group, until cancelled."""
        try:
            while True:
                await self._store_next()
                if self._uncounted >= FOLD_AFTER:
                    self._uncounted = 0
                    await self._count()
        finally:
            self._ended = True

    async def _store_next(self) -> None:
        """Wait for reports, and store all that wait, up to a limit."""
        group = [await self._queue.get()]
        size = len(group[0][0])
        while size < MOST_IN_GROUP and not self._queue.empty():
            group.append(self._queue.get_nowait())
            size += len(group[-1][0])
        await self._store_group(group)
        self.waiting -= size

    async def _count(self) -> None:
        """Count what was stored; where that fails, it can wait, and reports are stored as before."""
        try:
            await fold_all(self._store)
        except UnavailableError:
            pass
        except Exception as fault:  # noqa: BLE001  # reports must be stored, whatever it is
            log_defect(fault)

    async def _store_group(self, group: list[tuple[Sequence[Arrival], asyncio.Future[list[Outcome]]]]) -> None:
        arrivals = [arrival for own, _ in group for arrival in own]
        try:
            outcomes = iter(await self._stored(arrivals))
        except Exception as fault:  # noqa: BLE001  # whoever waits must hear of it, whatever it is
            for _, done in group:
                if not done.cancelled():
                    done.set_exception(fault)
            return
        self._uncounted += len(arrivals)
        for own, done in group:
            result = [next(outcomes) for _ in own]
            if not done.cancelled():
                done.set_result(result)

    async def _stored(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        for _ in range(_MOST_RACES):
            try:
                return await self._store.write(partial(accept, arrivals=arrivals))
            except RacedError:
                continue
        raise UnavailableError("other processes keep storing the same reports; try again in a moment")

"""Stored reports, page by page in the order of their ids, which says nothing about the order of their arrival."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import numpy as np

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Reports
from privtally.store.packing import unpack
from privtally.store.session import Session, Work

PAGE = 2_000


Rows = list[tuple[bytes, bytes]]
Read = Callable[[Work[Rows]], Awaitable[Rows]]
"""How a page is read: `store.read` for a transaction a page, so that nobody waits for a reader, or all in one."""


async def pages(read: Read, number: int, plan: Plan) -> AsyncIterator[Reports]:
    """All reports to a plan with this key."""
    last = b""
    while rows := await read(partial(_page, number=number, after=last)):
        ids, packed = [own for own, _ in rows], [codes for _, codes in rows]
        names = np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(len(ids), ID_BYTES)
        yield Reports(plan, names, unpack(plan, packed))
        last = ids[-1]


async def _page(session: Session, number: int, after: bytes) -> Rows:
    sql = "SELECT id, codes FROM reports WHERE plan = $1 AND id > $2 ORDER BY id LIMIT $3"
    return [(own, codes) for own, codes in await session.fetch(sql, number, after, PAGE)]

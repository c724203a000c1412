"""Stored reports, page by page in the order of their ids, which says nothing about the order of their arrival."""

from collections.abc import AsyncIterator
from functools import partial

import numpy as np

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Reports
from privtally.store.packing import unpack
from privtally.store.session import Session, Store

PAGE = 2_000


async def pages(store: Store, number: int, plan: Plan) -> AsyncIterator[Reports]:
    """All reports to a plan with this key; each page is a transaction of its own, so that nobody waits for a reader."""
    last = b""
    while rows := await store.read(partial(_page, number=number, after=last)):
        ids, packed = [own for own, _ in rows], [codes for _, codes in rows]
        names = np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(len(ids), ID_BYTES)
        yield Reports(plan, names, unpack(plan, packed))
        last = ids[-1]


async def _page(session: Session, number: int, after: bytes) -> list[tuple[bytes, bytes]]:
    sql = "SELECT id, codes FROM reports WHERE plan = $1 AND id > $2 ORDER BY id LIMIT $3"
    return [(own, codes) for own, codes in await session.fetch(sql, number, after, PAGE)]

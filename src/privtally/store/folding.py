"""Counting the reports of all plans that are not counted yet."""

from functools import partial

from privtally.store.session import Store
from privtally.store.surveys import every, numbered
from privtally.store.tallies import fold


async def fold_all(store: Store) -> None:
    """Count the reports of all plans that are not counted yet, those of earlier processes as well."""
    for survey in await store.read(every):
        for number, plan in numbered(survey):
            await store.write(partial(fold, number=number, plan=plan))

"""What it costs to read the totals of a campaign with more and more reports.

python -m benchmarks.store
"""

import asyncio
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from privtally.collector.estimate import estimate
from privtally.documents.plan import design
from privtally.lab.population import seeded
from privtally.schema import Schema
from privtally.store import campaigns, open_store
from privtally.store.campaigns import FOLD_AFTER, Options, counts_of, fold
from privtally.store.intake import Arrival, accept
from privtally.store.session import StoredReport

SIZES = (1_000, 100_000, 1_000_000)
GROUP = 20_000


async def main() -> None:
    """Store reports of made-up codes, and time reading counts and estimating after some numbers of them."""
    schema = Schema.of({f"question {own}": [f"answer {code}" for code in range(4)] for own in range(6)})
    plan = design(schema, 1.0, "rs-fd", source=seeded(1))
    made_up = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        store = await open_store(f"sqlite:///{path}")
        campaign = await store.write(partial(campaigns.create, title="Load", plan=plan, options=Options()))
        number, stored, since = campaign.plan_numbers[0], 0, 0
        for size in SIZES:
            begin = time.perf_counter()
            while stored < size:
                group = min(GROUP, size - stored)
                codes = made_up.integers(0, 4, (group, 6), dtype=np.uint8)
                ids = made_up.bytes(16 * group)
                rows = [
                    Arrival(campaign.number, StoredReport(number, ids[16 * own : 16 * own + 16], codes[own].tobytes()))
                    for own in range(group)
                ]
                await store.write(partial(accept, arrivals=rows))
                stored, since = stored + group, since + group
                if since >= FOLD_AFTER:
                    await store.write(partial(fold, number=number, plan=plan))
                    since = 0
            storing = time.perf_counter() - begin
            begin = time.perf_counter()
            counts = await store.read(partial(counts_of, number=number, plan=plan))
            reading = time.perf_counter() - begin
            begin = time.perf_counter()
            estimate([(plan, counts)], "unbiased")
            print(
                f"{stored:>9,} reports: stored in {storing:.1f} s; counts read in {1000 * reading:.0f} ms, "
                f"estimated in {1000 * (time.perf_counter() - begin):.0f} ms; {path.stat().st_size >> 20} MiB"
            )
        await store.close()


if __name__ == "__main__":
    asyncio.run(main())

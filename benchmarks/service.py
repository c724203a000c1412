"""How many reports a second the service stores, as ratios to the same framework storing nothing.

    python -m benchmarks.service

Client and service share this machine. Each rate is measured beside an endpoint of the same framework that reads the
body and answers at once, in the same run.
"""

import asyncio
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, Popen

import msgspec
import numpy as np

from privtally.documents.plan import load_plan
from privtally.documents.report import Report
from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema

SECONDS, CONNECTIONS = 5.0, 32
BARE = """
import socket, sys, uvicorn
from typing import Any
from litestar import Litestar, Request, post
@post("/v1/campaigns/{campaign:str}/reports", status_code=200)
async def receive(campaign: str, request: Request[Any, Any, Any]) -> dict[str, int]:
    return {"accepted": len(await request.body())}
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listening.bind(("127.0.0.1", 0))
listening.listen(2048)
print('{"url": "http://127.0.0.1:%d"}' % listening.getsockname()[1], flush=True)
config = uvicorn.Config(Litestar([receive], logging_config=None), access_log=False, log_config=None)
import asyncio
asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
"""


class Rate(msgspec.Struct):
    """Reports a second, and how long 99 of 100 requests took at most."""

    reports: float
    p99: float


async def client(port: int, requests: Sequence[bytes], deadline: float, took: list[float]) -> None:
    """Send requests one after the other on one connection, until the time is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for request in requests:
        begin = time.perf_counter()
        if begin > deadline:
            break
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        took.append(time.perf_counter() - begin)
    writer.close()


def requests_of(campaign: str, reports: Sequence[Report], batch: int) -> list[bytes]:
    """Requests that send batches of so many reports."""
    kind = "application/json" if batch == 1 else "application/x-ndjson"
    head = f"POST /v1/campaigns/{campaign}/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    requests = []
    for start in range(0, len(reports), batch):
        body = b"\n".join(report.dump() for report in reports[start : start + batch])
        requests.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return requests


async def measured(port: int, campaign: str, reports: Sequence[Report], batch: int) -> Rate:
    """The rate of many connections that send batches of so many reports."""
    requests = requests_of(campaign, reports, batch)
    took: list[float] = []
    begin = time.perf_counter()
    parts = [requests[own::CONNECTIONS] for own in range(CONNECTIONS)]
    await asyncio.gather(*(client(port, part, begin + SECONDS, took) for part in parts))
    return Rate(len(took) * batch / (time.perf_counter() - begin), float(np.quantile(took, 0.99)))


def started(words: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[Popen[bytes], int, str]:
    """A process that says in JSON where it listens; its port, and its administrator's token."""
    process = Popen(words, stdout=PIPE, env=environment)
    assert process.stdout is not None
    lines = process.stdout.readline()
    while not lines.rstrip().endswith(b"}"):
        lines += process.stdout.readline()
    said = msgspec.json.decode(lines)
    return process, int(said["url"].rsplit(":", 1)[1]), said.get("admin_token", "")


def new_campaign(port: int, token: str, schema: Schema, mechanism: str = "smp", *, published: bool = False) -> bytes:
    """Create a campaign; its first plan's document."""
    new = {"title": "Load", "schema": schema, "epsilon": 1.0, "mechanism": mechanism}
    body = msgspec.json.encode({**new, "options": {"published": published}})
    head = f"POST /v1/campaigns HTTP/1.0\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    answer = msgspec.json.decode(exchange(port, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body))
    return exchange(port, f"GET /v1/campaigns/{answer['id']}/plan HTTP/1.0\r\n\r\n".encode())


def exchange(port: int, request: bytes) -> bytes:
    """The body of the answer to a request on a connection of its own."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    return answer.partition(b"\r\n\r\n")[2]


def main() -> None:
    """Measure single reports and batches of 100, stored and not."""
    schema = Schema.of({f"question {own}": [f"answer {code}" for code in range(4)] for own in range(6)})
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'store.db'}"
        serve = [sys.executable, "-m", "privtally", "serve", "--store", store, "--port", "0", "--json"]
        service, port, token = started(serve)
        bare, bare_port, _ = started([sys.executable, "-c", BARE])
        try:
            plan = load_plan(new_campaign(port, token, schema))
            codes = np.zeros((400_000, 6), dtype=np.uint8)
            reports = list(respond_many(plan, Records(schema, codes), seeded(1)))
            for batch, share in ((1, reports[:60_000]), (100, reports[60_000:])):
                nothing = asyncio.run(measured(bare_port, plan.digest, share, batch))
                stored = asyncio.run(measured(port, plan.digest, share, batch))
                print(
                    f"batches of {batch}: {stored.reports:,.0f} reports/s, 99 % of requests within "
                    f"{1000 * stored.p99:.0f} ms; storing nothing {nothing.reports:,.0f} reports/s, "
                    f"{1000 * nothing.p99:.0f} ms; ratio {stored.reports / nothing.reports:.2f}"
                )
        finally:
            for process in (service, bare):
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()

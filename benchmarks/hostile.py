"""What the most expensive requests that anybody may send do to the service, and to somebody else who asks meanwhile.

    python -m benchmarks.hostile              # of the privtally that is installed
    python -m benchmarks.hostile OLD/src src  # of several source trees, each attack on all of them in turn

Each attack has a service of its own, and a client that asks for `/livez` again and again. Printed are the longest time
that it waited, the service's processor time, and by how much its memory grew at most.
"""

import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import numpy as np

from benchmarks.service import exchange, new_campaign, requests_of, started
from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import Report
from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema

FORMS, PLANS, WAVES, CROWD, NEIGHBOURS, ESTIMATES = 3, 100, 10, 20, 2, 3
ALIVE = b"GET /livez HTTP/1.0\r\n\r\n"
PAUSE = 0.01
TICKS = os.sysconf("SC_CLK_TCK")
LARGE = Schema.of({f"question {own}": [f"answer {code}" for code in range(65_536)] for own in range(3)})
SMALL = Schema.of({"question": ["yes", "no"]})
MANY = Schema.of({f"question {own}": [f"answer {code}" for code in range(8)] for own in range(16)})

Attack = Callable[[], str]
"""What is done to a service; says what else was seen."""
Prepare = Callable[[int, str], Attack]
"""An attack on a port, prepared with an administrator's token."""


def forms(port: int, _: str) -> Attack:
    """A: forms of 8 MiB with 4 million fields."""
    body = b"a&" * (1 << 22)
    head = f"POST /login HTTP/1.0\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Length: {len(body)}\r\n"

    def attack() -> str:
        for _ in range(FORMS):
            hang_up(port, f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\n".encode() + body)
        exchange(port, ALIVE)
        return f"{FORMS} forms"

    return attack


def estimates(port: int, token: str) -> Attack:
    """B: crowds that ask for published estimates after every new report, and hang up."""
    large, small = (load_plan(new_campaign(port, token, schema, published=True)) for schema in (LARGE, SMALL))
    reports, other = answers_to(large, 500 + WAVES), answers_to(small, 50)
    for request in (*requests_of(large.digest, reports[WAVES:], 500), *requests_of(small.digest, other, 50)):
        exchange(port, last(request))
    asked, asked_of_other = (
        f"GET /v1/campaigns/{plan.digest}/estimates HTTP/1.0\r\n\r\n".encode() for plan in (large, small)
    )

    def attack() -> str:
        for report in reports[:WAVES]:
            exchange(port, last(requests_of(large.digest, [report], 1)[0]))
            for _ in range(CROWD):
                hang_up(port, asked)
        begin = time.perf_counter()
        exchange(port, asked_of_other)
        waited = time.perf_counter() - begin
        exchange(port, as_administrator(asked, token))  # who waits for the last estimate
        return f"{WAVES * CROWD} requests; another campaign's estimate came after {waited:.2f} s"

    return attack


def plans(port: int, token: str) -> Attack:
    """C: requests for a plan of 1.7 MB that is known."""
    plan = load_plan(new_campaign(port, token, LARGE))
    request = f'GET /v1/campaigns/{plan.digest}/plan HTTP/1.0\r\nIf-None-Match: "{plan.digest}"\r\n\r\n'.encode()

    def attack() -> str:
        begin = time.perf_counter()
        for _ in range(PLANS):
            exchange(port, request)
        return f"{PLANS} requests, {1_000 * (time.perf_counter() - begin) / PLANS:.1f} ms each"

    return attack


def neighbours(port: int, token: str) -> Attack:
    """D: estimates of 16 questions of 8 answers beside two processes that are busy with something else."""
    plan = load_plan(new_campaign(port, token, MANY, "corr-rr", published=True))
    reports = answers_to(plan, 2_000 + ESTIMATES)
    for request in requests_of(plan.digest, reports[ESTIMATES:], 1_000):
        exchange(port, last(request))
    asked = as_administrator(f"GET /v1/campaigns/{plan.digest}/estimates HTTP/1.0\r\n\r\n".encode(), token)

    def attack() -> str:
        busy = [Popen([sys.executable, "-c", "while True: pass"]) for _ in range(NEIGHBOURS)]
        took = []
        try:
            for report in reports[:ESTIMATES]:
                exchange(port, last(requests_of(plan.digest, [report], 1)[0]))
                begin = time.perf_counter()
                exchange(port, asked)
                took.append(f"{time.perf_counter() - begin:.1f}")
        finally:
            for process in busy:
                process.kill()
                process.wait()
        return f"{ESTIMATES} estimates took {', '.join(took)} s"

    return attack


def as_administrator(request: bytes, token: str) -> bytes:
    """The same request with the administrator's token."""
    return request.replace(b"\r\n", f"\r\nAuthorization: Bearer {token}\r\n".encode(), 1)


def answers_to(plan: Plan, people: int) -> list[Report]:
    """Reports of people who all give the first answers."""
    codes = np.zeros((people, len(plan.schema.sizes)), dtype=np.uint8)
    return list(respond_many(plan, Records(plan.schema, codes), seeded(1)))


def last(request: bytes) -> bytes:
    """A request after which the connection ends."""
    return request.replace(b"HTTP/1.1", b"HTTP/1.0", 1)


def hang_up(port: int, request: bytes) -> None:
    """Send a request, as far as it is taken, and wait for no answer."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        except OSError:  # the service has answered and closed
            return


def processor_seconds(process: int) -> float:
    """What a process has used of processors."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def most_memory(process: int) -> int:
    """The most resident memory that a process ever had, in bytes."""
    (line,) = (line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


@contextmanager
def waiting(port: int) -> Iterator[list[float]]:
    """Somebody else who asks again and again: how long every answer took."""
    took: list[float] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(PAUSE):
            begin = time.perf_counter()
            exchange(port, ALIVE)
            took.append(time.perf_counter() - begin)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield took
    finally:
        ended.set()
        thread.join()


def measured(prepare: Prepare, source: str) -> str:
    """What an attack does to the service of a source tree."""
    with tempfile.TemporaryDirectory() as folder:
        process, port, token = serve(source, Path(folder))
        try:
            attack = prepare(port, token)
            used, memory = processor_seconds(process.pid), most_memory(process.pid)
            with waiting(port) as took:
                seen = attack()
            used, memory = processor_seconds(process.pid) - used, most_memory(process.pid) - memory
            return f"{seen}; others waited up to {max(took):.2f} s; {used:.1f} s of processors, +{memory >> 20} MiB"
        finally:
            process.kill()
            process.wait()


def serve(source: str, folder: Path) -> tuple[Popen[bytes], int, str]:
    """The service of a source tree, over an empty store."""
    words = ["-m", "privtally", "serve", "--store", f"sqlite:///{folder / 'store.db'}", "--port", "0", "--json"]
    return started([sys.executable, *words], {**os.environ, "PYTHONPATH": source} if source else None)


def main() -> None:
    """Do each attack to the service of each source tree."""
    for prepare in (forms, estimates, plans, neighbours):
        print(prepare.__doc__)
        for source in sys.argv[1:] or [""]:
            print(f"  {source}: " if source else "  ", measured(prepare, source), sep="", flush=True)


if __name__ == "__main__":
    main()

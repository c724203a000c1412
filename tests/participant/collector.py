"""A collector that does as it is told, to see what a participant makes of it."""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, TypeVar

from privtally.documents.plan import Plan

DROP = 0
"""Close the connection without an answer."""


class Request(NamedTuple):
    """A request without its body."""

    method: str
    path: str
    headers: dict[str, str]

    @property
    def resource(self) -> str:
        """The last part of the address."""
        return self.path.rpartition("/")[2]


@dataclass
class Scripted:
    """Hands out a plan, and answers with these statuses before it takes a report."""

    plan: Plan
    """The open one; the first one, which the address pins, is the one that the collector starts with."""
    statuses: list[int] = field(default_factory=list)
    reason: str | None = None
    problem: str | None = None
    """The type of the refusal that goes with a status above 200; without one, somebody else answered."""
    raw: dict[str, bytes] = field(default_factory=dict)
    """Whole replies, heads included, by the last part of the address that they go with."""
    received: list[bytes] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    """All that was heard but the bodies, which `received` has."""
    url: str = ""
    first: Plan = field(init=False)

    def __post_init__(self) -> None:
        self.first = self.plan

    def document(self, resource: str) -> bytes:
        """What is handed out under the last part of an address."""
        if resource == "plan":
            return self.plan.dump()
        return published(dict.fromkeys((self.first, self.plan)))


def published(plans: Iterable[Plan]) -> bytes:
    """A list of plans as a collector publishes it."""
    return b"[" + b",".join(plan.dump() for plan in plans) + b"]"


T = TypeVar("T", bound=Scripted)


@contextmanager
def collecting(script: T) -> Iterator[T]:
    """The collector, running; its address is that of the plan's campaign."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the library's name
            resource = self.heard().resource
            if resource in script.raw:
                self.wfile.write(script.raw[resource])
            else:
                self.reply(200, script.document(resource))

        def do_POST(self) -> None:
            script.received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.heard()
            if "reports" in script.raw:
                self.wfile.write(script.raw["reports"])
                return
            status = script.statuses.pop(0) if script.statuses else 200
            if status == DROP:
                self.close_connection = True
                return
            refused = [] if script.reason is None else [{"index": 0, "reason": script.reason}]
            receipt = {"accepted": int(not refused), "repeated": 0, "refused": refused}
            refusal = {"detail": "Not now."} | ({} if script.problem is None else {"type": script.problem})
            self.reply(status, json.dumps(receipt if status == 200 else refusal).encode())

        def heard(self) -> Request:
            script.requests.append(Request(self.command, self.path, dict(self.headers)))
            return script.requests[-1]

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Retry-After", "7")
            self.send_header("Location", "http://localhost:1/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        script.url = f"http://127.0.0.1:{server.server_port}/v1/campaigns/{script.plan.campaign_id}"
        try:
            yield script
        finally:
            server.shutdown()
            thread.join()

"""The sample campaign over HTTP: a service in a process of its own, and simulated people who answer it.

The people privatise on their side of the connection; what is sent are their reports.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

import msgspec

from privtally.cli.service import on_campaign, on_store
from privtally.collector.estimate import estimate
from privtally.documents.campaign import History, Learning, drive
from privtally.documents.counts import Counts
from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import Receipt
from privtally.errors import SendingError, ServiceError
from privtally.exact.randomness import Source
from privtally.files import Advance
from privtally.mechanisms.named import NAMED
from privtally.names import MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records
from privtally.service import operations
from privtally.service.api import MOST_REPORTS
from privtally.service.app import Started
from privtally.service.openapi import MANY, ONE
from privtally.service.operations import NewCampaign
from privtally.service.problems import Problem
from privtally.store.campaigns import Options

TITLE = "Sample survey"
_SECONDS = 60


@dataclass(frozen=True)
class Site:
    """A service, asked over one connection as a participant asks it."""

    connection: HTTPConnection

    def ask(self, verb: str, path: str, body: bytes = b"", kind: str = ONE) -> bytes:
        """The body of the service's reply; a refusal is raised."""
        try:
            self.connection.request(verb, path, body, {"Content-Type": kind})
            reply = self.connection.getresponse()
            data = reply.read()
        except (OSError, HTTPException):
            raise SendingError("the service stopped answering before the campaign was over; start again") from None
        if reply.status != HTTPStatus.OK:
            problem = msgspec.json.decode(data, type=Problem)
            raise SendingError(f"the service refused: {problem.detail or problem.title}")
        return data


@contextmanager
def service(store: str) -> Iterator[Site]:
    """A service on a store; it has stopped when the block ends, however it ends."""
    command = [sys.executable, "-m", "privtally", "serve", "--host", "127.0.0.1", "--port", "0", "--json"]
    environment = {**os.environ, "PRIVTALLY_STORE": store}  # everybody on the machine sees the words of a process
    with tempfile.TemporaryFile() as log:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log}
        running = subprocess.Popen(command, env=environment, **streams)  # noqa: S603  # this very program
        assert running.stdout is not None
        try:
            said = b""
            while not said.endswith(b"}\n"):
                line = running.stdout.readline()
                if not line:
                    log.seek(0)
                    why = log.read().decode(errors="replace").strip().rpartition("privtally: ")[2]
                    raise ServiceError(why or "the service ended as soon as it was started; start again")
                said += line
            started = msgspec.json.decode(said, type=Started)
            with closing(HTTPConnection(urlsplit(started.url).netloc, timeout=_SECONDS)) as connection:
                yield Site(connection)
        finally:
            running.terminate()
            running.wait()
            running.stdout.close()


def run_campaign(
    store: str,
    records: Records,
    epsilon: float,
    mechanism: MechanismName,
    source: Source,
    *,
    method: Method,
    advance: Advance,
) -> Estimate:
    """A campaign whose people answer all its phases over HTTP; `advance` hears how many reports are sent.

    What an administrator does is done on the store, whose token nobody needs to know. The first people are Phase I:
    simulated people come in no order.
    """
    phases = [records]
    if NAMED[mechanism].learns:
        first = Learning().phase1_people(len(records))
        phases = [Records(records.schema, codes) for codes in (records.codes[:first], records.codes[first:])]
    new = NewCampaign(
        title=TITLE,
        schema=records.schema,
        epsilon=epsilon,
        mechanism=mechanism,
        options=Options(people=len(phases[1]) if len(phases) > 1 else None),
    )
    campaign = on_store(store, partial(operations.create, new=new), create=True)

    with service(store) as site:

        def collect(plan: Plan) -> Counts:
            done = sum(map(len, phases[: plan.phase - 1]))
            _answer(site, campaign.id, phases[plan.phase - 1], source, lambda sent: advance(done + sent))
            return on_campaign(store, campaign.id, operations.history)[-1][1]

        def follow(_: History) -> Plan:
            return on_store(store, partial(operations.advance, campaign_id=campaign.id, digest=campaign.id))

        return estimate(drive(campaign.plans[0], collect, follow), method)


def _answer(site: Site, campaign: str, people: Records, source: Source, advance: Advance) -> None:
    """These people answer the open plan, in batches."""
    plan = load_plan(site.ask("GET", f"/v1/campaigns/{campaign}/plan"))
    for start in range(0, len(people), MOST_REPORTS):
        batch = Records(people.schema, people.codes[start : start + MOST_REPORTS])
        reports = b"".join(respond_many(plan, batch, source).lines())
        reply = site.ask("POST", f"/v1/campaigns/{campaign}/reports", reports, MANY)
        receipt = msgspec.json.decode(reply, type=Receipt)
        if receipt.refused:
            raise SendingError(f"the service refused a report ({receipt.refused[0].reason.replace('_', ' ')})")
        advance(start + len(batch))

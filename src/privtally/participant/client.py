"""A participant who answers over HTTP and trusts the collector with nothing but the report.

The campaign's id, which the link holds, pins its first plan: questions, budget, mechanism and number of answers.
Answers are encoded by that plan before the open one is asked for, and the open one is taken or refused without a look
at them. The report is on the participant's own disk before it is sent; whatever happens then, the same bytes are sent
again and no second report is drawn.
"""

import io
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from socket import socket
from typing import Annotated, Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import msgspec

from privtally.documents.campaign import check_campaign
from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import Receipt, Report
from privtally.errors import LedgerError, SendingError
from privtally.exact import canonical
from privtally.files import silently
from privtally.participant.ledger import report_of_round, report_to_send, settle
from privtally.participant.respond import encode, respond

T = TypeVar("T")

ATTEMPTS = 8
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
_PASSING = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
_OWN = "urn:privtally:"
"""How the type of every refusal by a collector itself begins."""
_SECONDS, _MOST_SECONDS = 30, 300
"""How long a reply may pause, and last."""
_MOST_BYTES, _MOST_PROBLEM = 1 << 26, 1 << 16


class _Problem(msgspec.Struct, frozen=True):
    type: str = ""
    detail: str = ""


class _Published(msgspec.Struct, frozen=True):
    digest: str


class _PassingError(Exception):
    """No answer of the collector, or none for now; perhaps with the time to wait."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds


class _SamePlace(HTTPRedirectHandler):
    """A collector that sends a participant elsewhere is not followed."""

    def redirect_request(self, *_: object) -> None:
        return None


class _InTime(io.RawIOBase):
    """What arrives on a connection while there is time left."""

    def __init__(self, connection: socket, arriving: io.RawIOBase, left: Callable[[], float]) -> None:
        self._connection, self._arriving, self._left = connection, arriving, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._left()
        if left <= 0:
            raise TimeoutError("a reply that does not end")
        self._connection.settimeout(min(_SECONDS, left))
        return self._arriving.readinto(buffer)

    def close(self) -> None:
        self._arriving.close()
        super().close()


class _Reply(HTTPResponse):
    """A reply of which nothing is read once no time is left: no status, header, piece or trailer."""

    def __init__(self, sock: socket, *words: Any, left: Callable[[], float], **fields: Any) -> None:
        super().__init__(sock, *words, **fields)
        self.fp = io.BufferedReader(_InTime(sock, self.fp.detach(), left))


class _Limited(HTTPHandler, HTTPSHandler):
    """Opens addresses as usual, proxies included, and reads every reply in time."""

    def __init__(self, left: Callable[[], float]) -> None:
        super().__init__()
        self._left = left

    def do_open(self, http_class: Any, req: Request, **fields: Any) -> Any:
        def connection(host: str, **more: Any) -> Any:
            made = http_class(host, **more)
            made.response_class = partial(_Reply, left=self._left)
            return made

        return super().do_open(connection, req, **fields)


def usual_ledger() -> Path:
    """Where a participant's reports are kept unless told otherwise."""
    try:
        home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError:
        raise LedgerError("there is no home directory to keep the ledger in; name a file with --ledger FILE") from None
    return Path(home) / "privtally" / "ledger.json"


@dataclass(frozen=True)
class Participant:
    """One person who takes part in the campaign at an address."""

    url: str
    """The link to the survey, https://HOST/s/ID, with # and a token where it has one; or https://HOST/v1/campaigns/ID."""
    ledger: Path = field(default_factory=usual_ledger)
    most_epsilon: float = 4.0
    """The largest budget, over all answers to the campaign, that the participant agrees to."""
    token: str | None = None
    """The participation token, if it does not stand in the link."""
    wait: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = silently
    """Hears a sentence before every wait."""
    _: KW_ONLY
    device_cap: float | None = None
    """The largest budget over all campaigns in the ledger, if there is such a limit."""
    trust: bool = False
    """Take a link that pins no campaign, and whatever first plan the collector offers there."""
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
        except ValueError:
            raise SendingError("the campaign's address is not one; copy the whole link") from None
        if not f"{self.address}{self.token or parts.fragment}".isascii():
            raise SendingError("a campaign's address and token have plain letters and digits only; copy the whole link")
        if not self.trust and not canonical.is_digest(self._name):
            raise SendingError(
                "the link pins no campaign: its last part must be the campaign's id, 64 lower-case hexadecimal digits; "
                "copy the whole link (a program may take whatever the collector asks: Participant(…, trust=True))"
            )
        at_home = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
        if parts.scheme != "https" and not at_home:
            raise SendingError("a campaign's address begins with https://, or with http://localhost for a trial")

    @property
    def campaign(self) -> str:
        """The campaign's id, which the link pins; with `trust` and without a pin, that of what the collector offers."""
        return self._name if canonical.is_digest(self._name) else self.first.digest

    @property
    def address(self) -> str:
        """Where the campaign's plan is read and its reports are sent."""
        parts = urlsplit(self.url)
        place = parts.path.rstrip("/").rpartition("/")[0]
        if place.endswith("/s"):
            place = f"{place.removesuffix('s')}v1/campaigns"
        return f"{parts.scheme}://{parts.netloc}{place}/{self._name}"

    @property
    def _name(self) -> str:
        """The last part of the address."""
        return urlsplit(self.url).path.rstrip("/").rpartition("/")[2]

    @cached_property
    def first(self) -> Plan:
        """The campaign's first plan: what is asked, and what it gives away. Refused if the link pins another."""
        first = load_plan(next(iter(self._published().values())))
        check_campaign(self._name if canonical.is_digest(self._name) else first.digest, first, first)
        return first

    def plan(self) -> Plan:
        """The plan to answer; refused if it breaks the contract of the first plan, or is not among those published."""
        first = self.first
        plan = load_plan(self._until_answered(lambda: self._read("plan")))
        check_campaign(first.digest, first, plan)
        if plan.digest != first.digest and plan.digest not in self._published():
            raise SendingError("the collector handed out a plan that it does not publish; nothing was answered")
        return plan

    def _published(self) -> dict[str, bytes]:
        """The documents of all plans that the collector says it has published, by the digests that they claim."""
        data = self._until_answered(lambda: self._read("plans"))
        try:
            documents = msgspec.json.decode(data, type=Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1)])
            return {msgspec.json.decode(each, type=_Published).digest: bytes(each) for each in documents}
        except (msgspec.MsgspecError, RecursionError):
            raise SendingError("the collector's list of plans cannot be read; nothing was answered") from None

    def answer(self, answers: Mapping[str, str | float | None]) -> Report:
        """Answer the open plan and send the report until it counts.

        A report that was drawn before and may not have arrived is sent again instead, and so is that of a round that
        was answered. The report comes back, for those who want to look for it later.
        """
        try:
            self.ledger.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as fault:
            raise LedgerError(f"cannot make the ledger's directory {self.ledger.parent}: {fault.strerror}") from None
        report = report_to_send(self.ledger, self.campaign) or self._draw(answers)
        refusal = self._until_answered(lambda: self._send(report), "the report is kept")
        settle(self.ledger, self.campaign, report)
        if refusal is not None:
            raise SendingError(f"the collector refused the report ({refusal}); it stays in the ledger")
        return report

    def _draw(self, answers: Mapping[str, str | float | None]) -> Report:
        record = encode(self.first.schema, answers)  # before the open plan is asked for, which must not depend on it
        plan = self.plan()
        there = report_of_round(self.ledger, plan)
        return there or respond(
            plan, record, ledger=self.ledger, most_epsilon=self.most_epsilon, device_cap=self.device_cap
        )

    def _until_answered(self, ask: Callable[[], T], kept: str = "nothing was drawn") -> T:
        """What the collector answers, asked again with the same bytes while it does not or cannot for now."""
        pause = FIRST_WAIT
        for attempt in range(ATTEMPTS):
            if attempt:
                self.tell(f"The collector does not answer; trying again in {pause:g} s.")
                self.wait(pause)
                pause = min(2 * pause, LONGEST_WAIT)
            try:
                return ask()
            except _PassingError as passing:
                pause = max(pause, passing.seconds)
            except (OSError, HTTPException) as fault:
                if isinstance(getattr(fault, "reason", None), ssl.SSLCertVerificationError):
                    raise SendingError(
                        "the collector's certificate cannot be trusted, so nothing was sent; check the address"
                    ) from None
        raise SendingError(f"the collector did not answer {ATTEMPTS} times; {kept}, so try again later")

    def _read(self, resource: str) -> bytes:
        try:
            return self._ask(resource, None)
        except HTTPError as refusal:
            with refusal:
                if refusal.code in _PASSING:
                    raise _PassingError(_retry_after(refusal)) from None
                detail = _problem(refusal).detail
                reason = f": {detail}" if detail and canonical.is_printable(detail) else ""
                raise SendingError(f"the collector refused with status {refusal.code}{reason}") from None

    def _send(self, report: Report) -> str | None:
        """None if the report counts, else why not. Whatever is not of the collector itself may change by itself."""
        try:
            receipt = msgspec.json.decode(self._ask("reports", report.dump()), type=Receipt)
        except HTTPError as refusal:
            with refusal:
                kind = _problem(refusal).type
                if refusal.code >= HTTPStatus.INTERNAL_SERVER_ERROR or not kind.startswith(_OWN):
                    raise _PassingError(_retry_after(refusal)) from None
                return kind.removeprefix(_OWN).replace("-", " ")
        except (msgspec.MsgspecError, RecursionError):
            raise _PassingError from None
        if receipt.accepted + receipt.repeated + len(receipt.refused) != 1:
            raise _PassingError
        return receipt.refused[0].reason.replace("_", " ") if receipt.refused else None

    def _ask(self, resource: str, body: bytes | None) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "privtally"}
        if token := self.token or urlsplit(self.url).fragment:
            headers["Privtally-Token"] = token
        request = Request(f"{self.address}/{resource}", data=body, headers=headers)  # noqa: S310  # http(s) only
        end = self.clock() + _MOST_SECONDS
        opener = build_opener(_SamePlace, _Limited(lambda: end - self.clock()))
        with opener.open(request, timeout=_SECONDS) as reply:
            data: bytes = reply.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise HTTPException("a reply that does not end")
            if reply.length:
                raise HTTPException("a reply that ends too early")
        return data


def _problem(refusal: HTTPError) -> _Problem:
    """The problem document of a refusal; an empty one if it has none."""
    try:
        return msgspec.json.decode(refusal.read(_MOST_PROBLEM), type=_Problem)
    except (msgspec.MsgspecError, RecursionError, OSError, HTTPException):
        return _Problem()


def _retry_after(refusal: HTTPError) -> float:
    seconds = refusal.headers.get("Retry-After", "")
    return min(float(seconds), LONGEST_WAIT) if seconds.isdecimal() else 0.0

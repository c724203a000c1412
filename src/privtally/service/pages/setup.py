"""What pages are given by whoever starts the service."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from litestar import Request
from litestar.di import NamedDependency

from privtally.service.advice import Advise

AnyRequest = Request[Any, Any, Any]


@dataclass(frozen=True)
class Setup:
    """Who gives advice, and where the service is reached if not where a request says."""

    advise: Advise
    public_url: str | None = None

    def base(self, request: AnyRequest) -> str:
        """The address that links to surveys start with."""
        return (self.public_url or f"{request.url.scheme}://{request.url.netloc}").rstrip("/")

    def over_tls(self, request: AnyRequest) -> bool:
        return self.base(request).startswith("https://")

    def is_own(self, request: AnyRequest, origin: str) -> bool:
        """Whether an Origin header names this service."""
        named = origin.partition("://")[2]
        return named != "" and named in {request.headers.get("host"), urlsplit(self.base(request)).netloc}


TheSetup = NamedDependency[Setup]
"""How a route asks for the setup."""

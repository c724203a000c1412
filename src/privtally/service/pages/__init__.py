"""Pages for people: the survey and the dashboard. They load nothing from elsewhere and run no inline script."""

from http import HTTPStatus
from typing import Any

from litestar import Litestar, Response, Router
from litestar.di import Provide
from litestar.exceptions import NotFoundException

from privtally.errors import PrivtallyError
from privtally.service.pages import dashboard, editor, login, rendering, survey
from privtally.service.pages.rendering import HEADERS, PageRefusalError, Setup, page
from privtally.service.problems import MOST_FORM_BYTES, AnyRequest, refuse

__all__ = ["Setup", "add_pages"]

ROUTES = [
    *(rendering.static, rendering.client, survey.survey_page, survey.totals_page),
    *(login.login_page, login.login, login.logout),
    *(dashboard.list_page, dashboard.campaign_page, dashboard.live_part, dashboard.together_page),
    *(editor.new_page, editor.change_or_create, editor.advice_part),
    *(dashboard.advance_page, dashboard.refresh_page, dashboard.close_page, dashboard.delete_page, dashboard.take_step),
    *(dashboard.invitations_page, dashboard.invite, dashboard.export, dashboard.certificates),
]


def add_pages(app: Litestar, setup: Setup) -> None:
    """Add the pages to the application of a service."""
    app.state.pages = setup
    router = Router(
        "/",
        route_handlers=ROUTES,
        dependencies={"setup": Provide(lambda: setup, sync_to_thread=False)},
        exception_handlers={
            login.LoginNeededError: login.ask_to_log_in,
            NotFoundException: refused_page,
            Exception: refused_page,
        },
        before_request=login.require_own_form,
        include_in_schema=False,
        request_max_body_size=MOST_FORM_BYTES,
        response_headers=HEADERS,
    )
    app.register(router)
    app.exception_handlers[NotFoundException] = unknown_page


def unknown_page(request: AnyRequest, fault: Exception) -> Response[Any]:
    """An address without a route: a page for browsers, a problem document for programs."""
    browser = "text/html" in request.headers.get("accept", "")
    return refused_page(request, fault) if browser else refuse(request, fault)


def refused_page(request: AnyRequest, fault: Exception) -> Response[Any]:
    """A refusal as a page, with the status that it has over the API."""
    status = HTTPStatus(refuse(request, fault).status_code or 0)  # logs a defect
    if isinstance(fault, login.ForeignFormError):
        status = HTTPStatus.FORBIDDEN
    if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        fault = PageRefusalError("refused.large")
    known = isinstance(fault, PrivtallyError) and status is not HTTPStatus.NOT_FOUND
    response = page(request, "refused.html", status, fault=fault if known else None)
    response.headers.update(HEADERS)
    return response

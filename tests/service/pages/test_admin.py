"""Who may see the dashboard, and what other pages may not do to it."""

import asyncio
import re

import pytest

from tests.service.pages.visitor import FORM, ORIGIN, Visitor

PAGES = (
    "/",
    "/new",
    "/c/x",
    "/c/x/live?seen=",
    "/c/x/together",
    "/c/x/advance",
    "/c/x/close",
    "/c/x/delete",
    "/c/x/forget",
)
FILES = ("/c/x/export/csv", "/c/x/certificates")
STEPS = ("/new", "/new/advice", "/c/x/advance", "/c/x/close", "/c/x/delete", "/c/x/forget", "/logout")
NASTY = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{7*7}}"


def test_pages_and_steps_lead_to_the_login(visitor: Visitor) -> None:
    answers = [*map(visitor.open, PAGES + FILES), *map(visitor.submit, STEPS)]
    assert {(answer.status_code, answer.headers["location"].partition("?")[0]) for answer in answers} == {
        (303, "/login")
    }


def test_a_login_leads_back_to_the_page_that_was_asked_for(visitor: Visitor) -> None:
    asked = visitor.open("/c/x/close").headers["location"]
    assert 'value="/c/x/close"' in visitor.open(asked).text
    assert 'value="/c/x/close"' in visitor.submit("/login", token="wrong", back="/c/x/close").text
    assert visitor.submit("/login", token=visitor.token, back="/c/x/close").headers["location"] == "/c/x/close"


@pytest.mark.parametrize(
    "back",
    [
        "//elsewhere.example",
        "/\\elsewhere.example",
        "https://elsewhere.example/c/x",
        "/c/x//elsewhere.example",
        "/c/../logout",
        "/c/x\r\nX-Planted: 1",
        "/c/x\n",
        "javascript:alert(1)",
        "/v1/campaigns",
    ],
)
def test_a_login_leads_nowhere_else(visitor: Visitor, back: str) -> None:
    assert 'name="back"' not in visitor.client.get("/login", params={"back": back}).text
    answer = visitor.submit("/login", token=visitor.token, back=back)
    assert (answer.headers["location"], "x-planted" in answer.headers) == ("/", False)


def test_an_unknown_address_is_a_page_for_browsers_and_a_problem_for_programs(visitor: Visitor) -> None:
    seen = visitor.open("/nowhere", Accept="text/html,*/*;q=0.8")
    assert (seen.status_code, seen.headers["content-type"].partition(";")[0]) == (404, "text/html")
    assert "default-src 'none'" in seen.headers["content-security-policy"]
    told = visitor.open("/nowhere", Accept="*/*")
    assert (told.status_code, told.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(
    "origin", ["https://elsewhere.example", "null", "", "http://[", "testserver.local", f"{ORIGIN}.elsewhere.example"]
)
def test_forms_of_other_pages_are_refused(admin: Visitor, origin: str) -> None:
    answers = [admin.submit(path, origin, token=admin.token) for path in (*STEPS, "/login")]
    assert {answer.status_code for answer in answers} == {403}
    assert admin.open("/").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-origin", "none"])
def test_a_form_without_an_origin_is_refused(admin: Visitor, site: str) -> None:
    for path in (*STEPS, "/login"):
        answer = admin.client.post(path, data={"token": admin.token}, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == 403, path
    assert admin.open("/").status_code == 200


@pytest.mark.parametrize("host", ['evil"><script>alert(1)</script>', "evil.example/<script>", "evil.example@other"])
def test_a_strange_host_plants_nothing(admin: Visitor, host: str) -> None:
    campaign = admin.create_by_form()
    cookie = f"privtally_session={admin.client.cookies['privtally_session']}"
    for path in ("/", f"/c/{campaign}", f"/s/{campaign}"):
        answer = admin.open(path, Host=host, Cookie=cookie)
        assert answer.status_code < 500, path
        assert "<script>" not in answer.text, path


def test_names_of_files_hold_nothing_of_a_title(admin: Visitor) -> None:
    campaign = admin.create_by_form(title='a"; filename="evil.exe')
    for kind in ("json", "ndjson"):
        answer = admin.open(f"/c/{campaign}/export/{kind}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{campaign[:12]}.{kind}"'
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert admin.submit("/new", **{**FORM, "title": "a\r\nX-Planted: 1"}).status_code == 400


FORMS = ("/login", "/new", "/new/advice", "/c/x/advance", "/c/x/refresh", "/c/x/forget", "/c/x/delete")


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/x-www-form-urlencoded", b"&a" * 1_001, 413),
        ("application/x-www-form-urlencoded", b"a=" + b"a" * (1 << 20), 413),
        ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--\r\n", 415),
    ],
    ids=["fields", "bytes", "kind"],
)
def test_forms_that_no_page_sends_are_refused_before_they_are_parsed(
    admin: Visitor, path: str, kind: str, body: bytes, status: int
) -> None:
    answer = admin.client.post(path, content=body, headers={"Origin": ORIGIN, "Content-Type": kind})
    assert answer.status_code == status
    assert ("too large" in answer.text) == (status == 413)


def test_only_the_form_of_a_survey_may_be_long(admin: Visitor) -> None:
    labels = "\n".join(f"answer {code}" for code in range(3_000))
    assert admin.submit("/new/advice", **{**FORM, "q0-labels": labels}).status_code == 200
    assert admin.submit("/login", token=labels).status_code == 413


def test_a_wrong_token_opens_nothing(visitor: Visitor) -> None:
    answer = visitor.submit("/login", token="wrong")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert visitor.open("/").status_code == 303


def test_the_cookie_is_for_this_service_alone_and_is_no_token(admin: Visitor) -> None:
    answer = admin.submit("/login", token=admin.token)
    cookie = answer.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= set(map(str.strip, cookie.split(";")))
    stolen = admin.client.cookies["privtally_session"]
    assert admin.token not in cookie
    bearer = {"Authorization": f"Bearer {stolen}"}
    assert admin.client.get("/v1/campaigns", headers=bearer).status_code == 401


def test_the_cookie_does_not_open_the_api(admin: Visitor) -> None:
    assert admin.client.get("/v1/campaigns").status_code == 401


def test_logging_out_ends_the_session_and_not_only_the_cookie(admin: Visitor) -> None:
    cookie = admin.client.cookies["privtally_session"]
    assert admin.submit("/logout").status_code == 303
    admin.client.cookies.set("privtally_session", cookie)
    assert admin.open("/").status_code == 303


def test_a_new_token_ends_all_sessions(admin: Visitor) -> None:
    from privtally.service.operations import new_admin_token

    asyncio.run(new_admin_token(admin.client.app.state.collector.store))
    assert admin.open("/").status_code == 303


def test_a_refreshing_part_leads_to_the_login(visitor: Visitor) -> None:
    assert visitor.open("/c/x/live?seen=", **{"HX-Request": "true"}).headers["hx-redirect"] == "/login"


def test_every_page_forbids_what_is_not_its_own(admin: Visitor) -> None:
    campaign = admin.create_by_form()
    paths = [path.replace("/c/x", f"/c/{campaign}") for path in PAGES]
    for path in [*paths, "/login", f"/s/{campaign}", "/s/unknown", "/c/unknown", "/static/nothing"]:
        answer = admin.open(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"], path
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|//(?!testserver)", answer.text), path


STRANGE = (
    "/static/../words.py",
    "/static/%2e%2e%2fwords.py",
    "/static/a%0d%0aX-Planted:%201",
    "/c/%0d%0aX-Planted:%201",
    "/c/%2e%2e%2flogin",
    "/c/x%2f..%2f..%2fstatic",
    "/c/x/export/csv%0d%0aX-Planted:%201",
    "/s/%00",
    "/s/%ff%fe",
)


def test_strange_paths_find_nothing_and_plant_nothing(admin: Visitor) -> None:
    for path in STRANGE:
        answer = admin.open(path)
        assert answer.status_code in (400, 404), path
        assert "x-planted" not in answer.headers
    assert "x-planted" not in admin.submit("/c/%0d%0aX-Planted:%201/close").headers


def test_html_in_texts_is_text(admin: Visitor) -> None:
    campaign = admin.create_by_form(title=NASTY, about=NASTY, **{"q0-name": NASTY, "q0-labels": f"{NASTY}\nb\nc"})
    admin.send(campaign, *_reports(admin, campaign))
    for path in ("/", f"/c/{campaign}", f"/s/{campaign}", f"/c/{campaign}/advance", f"/c/{campaign}/delete"):
        text = admin.open(path).text
        assert "&lt;script&gt;" in text, path
        assert "<script>" not in text
        assert "<img src=x" not in text
        assert "49" not in text.split("&lt;script&gt;", 1)[1][:200]


def _reports(admin: Visitor, campaign: str) -> list[bytes]:
    from tests.service.site import reports_to

    return [report.dump() for report in reports_to(admin.plan(campaign), 50)]


@pytest.mark.parametrize("path", ["/static/style.css", "/static/htmx.min.js", "/client/privtally.js"])
def test_files_are_sent_again_only_if_they_changed(visitor: Visitor, path: str) -> None:
    first = visitor.open(path)
    assert first.content
    again = visitor.open(path, **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert visitor.open(path, **{"If-None-Match": '"old"'}).content == first.content


@pytest.mark.parametrize("number", ["9" * 17, "9" * 400, "9" * 5_000, "-" + "9" * 9, "-" + "9" * 400])
def test_numbers_of_any_length_are_refused_without_a_defect(admin: Visitor, number: str) -> None:
    for name in ("answers", "people", "epsilon"):
        assert admin.submit("/new/advice", **{**FORM, name: number}).status_code == 200
        assert admin.submit("/new", **{**FORM, name: number}).status_code == 400
    campaign = admin.create(mechanism="smp", options={"tokens": True})["id"]
    assert admin.submit(f"/c/{campaign}/invitations", number=number).status_code == 409

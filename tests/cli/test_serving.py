"""serve and db new-token: the settings of a service, and its administrator's token."""

from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from tests.cli.conftest import Program
from tests.service.process import serving


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("port", "70000", "--port"),
        ("port", "http", "--port"),
        ("host", "no such host", "--host"),
        ("store", "privtally.db", "store"),
        ("store", "sqlite:///nowhere/privtally.db", "nowhere/privtally.db"),
        ("public-url", "survey.example.org", "https"),
        ("public-url", "http://survey.example.org", "https"),
        ("public-url", "https://survey.example.org/path", "path"),
    ],
)
def test_a_wrong_setting_is_refused_as_option_and_as_variable(
    program: Program, monkeypatch: pytest.MonkeyPatch, option: str, value: str, word: str
) -> None:
    assert word in program("serve", f"--{option}", value, code=2).err
    monkeypatch.setenv(f"PRIVTALLY_{option.upper().replace('-', '_')}", value)
    assert word in program("serve", code=2).err


def test_a_new_token_replaces_the_one_before_while_the_service_runs(program: Program, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/privtally.db"
    with serving(address, tmp_path) as process:
        with process.site() as site:
            site.create()
        new = program("db", "new-token", "--store", address, "--json").json()["admin_token"]
        with process.site() as site:
            assert site.create(status=401) == "not-admin"
            site.token = new
            site.create()

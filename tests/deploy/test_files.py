"""What the files of deploy/ name exists: commands, options, variables, limits."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import typer

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.cli.app import app
from privtally.service import app as serving
from privtally.service.app import MOST_BYTES
from tests.deploy.files import DEPLOY, UNITS, environment, setting, unit_lines

ONCE = {"new_token", "json"}
"""Options of `serve` that are asked for once; as variables of a service they would be asked for at every start."""


def command(*names: str) -> Any:
    found: Any = typer.main.get_command(app)
    for name in names:
        found = found.commands[name]
    return found


def called() -> list[list[str]]:
    """The words of every call of privtally in the units and in what they run."""
    lines = [value for unit in UNITS for name, value in unit_lines(unit) if name == "ExecStart"]
    lines += (DEPLOY / "backup.sh").read_text().splitlines()
    calls = [re.search(r"\S*/bin/privtally ([^']*)", line) for line in lines]
    return [shlex.split(call[1]) for call in calls if call]


def test_the_units_call_commands_and_options_that_exist() -> None:
    assert {call[0] for call in called()} == {"serve", "db"}
    for call in called():
        names = call[:1] if call[0] == "serve" else call[:2]
        options = {option for parameter in command(*names).params for option in parameter.opts}
        assert {word for word in call if word.startswith("-")} <= options


def test_every_setting_of_serve_has_its_variable_and_says_so() -> None:
    parameters = {own.name: own for own in command("serve").params if own.name not in {*ONCE, "help"}}
    assert {own.envvar for own in parameters.values()} == {f"PRIVTALLY_{name.upper()}" for name in parameters}
    assert set(environment()) == {own.envvar for own in parameters.values()}
    assert all(own.show_envvar for own in parameters.values())


def test_the_proxies_lead_to_where_the_service_listens() -> None:
    place = f"{environment()['PRIVTALLY_HOST']}:{environment()['PRIVTALLY_PORT']}"
    host = urlsplit(environment()["PRIVTALLY_PUBLIC_URL"]).netloc
    for name, start in (("nginx.conf", "proxy_pass http://"), ("Caddyfile", "reverse_proxy ")):
        text = (DEPLOY / name).read_text()
        assert re.findall(rf"{start}([\d.:]+)", text) == [place]
        assert host in text


def test_the_proxies_take_as_much_as_the_service_reads() -> None:
    (nginx,) = re.findall(r"client_max_body_size (\d+)m;", (DEPLOY / "nginx.conf").read_text())
    (caddy,) = re.findall(r"max_size (\d+)MiB", (DEPLOY / "Caddyfile").read_text())
    assert int(nginx) << 20 == int(caddy) << 20 == MOST_BYTES


def test_systemd_waits_until_the_service_has_finished() -> None:
    unit = DEPLOY / "privtally.service"
    assert setting(unit, "KillSignal") == "SIGTERM"
    assert int(setting(unit, "TimeoutStopSec")) > serving.SECONDS_TO_FINISH


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_units_write_only_where_they_may(unit: Path) -> None:
    folders = {f"/var/lib/{name}" for name in setting(unit, "StateDirectory").split()}
    assert setting(unit, "ProtectSystem") == "strict"
    assert setting(unit, "NoNewPrivileges") == "yes"
    named = [setting(unit, "WorkingDirectory"), environment()["PRIVTALLY_STORE"].removeprefix("sqlite:///")]
    named += re.findall(r"/var/lib/[\w-]+", " ".join(value for name, value in unit_lines(unit) if name == "ExecStart"))
    for path in named:
        assert any(path == folder or path.startswith(f"{folder}/") for folder in folders)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_no_fault_with_the_units(tmp_path: Path) -> None:
    for unit in DEPLOY.glob("privtally*.*"):  # with a program that is there
        text = unit.read_text().replace("/opt/privtally/bin/privtally", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    units = sorted(str(tmp_path / unit.name) for unit in [*UNITS, *DEPLOY.glob("*.timer")])
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (tmp_path / "privtally.service").write_text(
        "[Service]\nExecStart=/bin/true\nProtectSystems=strict\n"
    )  # the control
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False)
    assert "ProtectSystems" in done.stderr

"""A package that lacks a file, or has one too many, is refused."""

from tools.distribution import BESIDE, faults_of_sdist, faults_of_wheel

from tools import ROOT

SOURCE = [file for file in (ROOT / "src/privtally").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
WHEEL = [file.relative_to(ROOT / "src").as_posix() for file in SOURCE]
SDIST = [f"privtally-1/{file.relative_to(ROOT).as_posix()}" for file in SOURCE] + [f"privtally-1/{n}" for n in BESIDE]
NEEDED = (
    "privtally/py.typed",
    "privtally/client/privtally.js",
    "privtally/service/pages/static/style.css",
    "privtally/service/pages/templates/base.html",
    "privtally/store/migrations/sqlite/0001.sql",
)


def test_complete_packages_pass() -> None:
    assert faults_of_wheel([*WHEEL, "privtally-1.dist-info/METADATA"]) == []
    assert faults_of_sdist(SDIST) == []


def test_a_missing_file_is_named() -> None:
    for name in NEEDED:
        assert faults_of_wheel([other for other in WHEEL if other != name]) == [f"lacks {name}"]
        assert faults_of_sdist([other for other in SDIST if not other.endswith(name)]) == [f"lacks src/{name}"]


def test_what_does_not_belong_is_named() -> None:
    assert faults_of_wheel([*WHEEL, "tests/golden/plan.json"]) == ["has tests/golden/plan.json"]
    assert faults_of_sdist([*SDIST, "privtally-1/tests/golden/1.0/smp/export.parquet"]) == []
    assert faults_of_sdist([*SDIST, "privtally-1/reports.parquet"]) == ["has reports.parquet"]
    assert faults_of_sdist([*SDIST, "privtally-1/build/demo/privtally.db"]) == ["has build/demo/privtally.db"]

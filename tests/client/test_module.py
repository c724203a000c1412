"""The module as it is shipped: small, by itself, ready for npm, and used as its page says."""

import json
import re
import shutil
from pathlib import Path

import privtally
from tests.client.node import CLIENT, MODULE, ROOT, run
from tests.support import fill_of, first_plan, later_plan

PAGE = ROOT / "docs/reference/browser-client.md"
MOST_BYTES = 26_000


def test_the_module_is_small_and_needs_nothing_else() -> None:
    text = MODULE.read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    for refused in (
        r"\bimport\b",
        r"\beval\b",
        r"\bFunction\b",
        r"://",
        r"\bdocument\.",
        r"\bon[a-z]+\s*=[^=>]",
        r"innerHTML",
    ):
        assert not re.search(refused, text), refused


def test_the_folder_is_ready_for_npm(tmp_path: Path) -> None:
    package = json.loads((CLIENT / "package.json").read_text())
    assert package["version"] == privtally.__version__
    assert {path.name for path in CLIENT.iterdir()} == {"README.md", "package.json", *package["files"]}
    shutil.copytree(CLIENT, tmp_path / "node_modules" / package["name"])
    script = tmp_path / "names.mjs"
    script.write_text(f'import * as client from "{package["name"]}"; console.log(JSON.stringify(Object.keys(client)));')
    names = json.loads(run(script))
    for page in (PAGE, CLIENT / "README.md"):
        assert [name for name in names if f"`{name}" not in page.read_text()] == []


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```js\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    first = first_plan((3, 3), 1.0, "corr-rr")
    fill = fill_of("corr-rr", (3, 3))
    assert fill is not None
    plans = [json.loads(plan.dump()) for plan in (first, later_plan(first, fill))]
    shutil.copy(MODULE, tmp_path / "privtally.js")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "example.js").write_text(example, encoding="utf-8")
    (tmp_path / "plans.json").write_text(json.dumps(plans), encoding="utf-8")
    shutil.copy(Path(__file__).with_name("example.mjs"), tmp_path)
    run(tmp_path / "example.mjs")

"""The notebook of the examples runs, and shows what it says: a table and a picture, in few lines."""

import json
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples/notebook.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The cells with what they gave, run by a kernel of its own in a copy of the examples."""
    copy = tmp_path_factory.mktemp("notebook") / "examples"
    shutil.copytree(ROOT / "examples", copy)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(copy)}}).execute()
    return notebook.cells


def sections(cells: Any) -> dict[str, list[Any]]:
    """The cells of code under each heading."""
    found: dict[str, list[Any]] = {}
    for cell in cells:
        if cell["cell_type"] == "markdown":
            own = found.setdefault("".join(cell["source"]).splitlines()[0].lstrip("# "), [])
        else:
            own.append(cell)
    return found


@pytest.mark.parametrize("library", ["pandas", "Polars"])
def test_a_frame_becomes_a_picture_in_ten_lines(cells: Any, library: str) -> None:
    own = sections(cells)[library]
    lines = [line for cell in own for line in cell["source"].splitlines() if line.strip()]
    assert len(lines) <= 10
    shown = [output["data"] for cell in own for output in cell["outputs"] if output["output_type"] == "execute_result"]
    assert any("image/png" in data for data in shown)
    assert all("text/html" in data or "image/png" in data for data in shown)


def test_nothing_but_results_is_shown(cells: Any) -> None:
    kinds = {output["output_type"] for cell in cells for output in cell.get("outputs", [])}
    assert kinds == {"execute_result"}


def test_what_is_committed_has_no_outputs() -> None:
    for cell in json.loads(NOTEBOOK.read_bytes())["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None

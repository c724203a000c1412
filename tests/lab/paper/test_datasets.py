from pathlib import Path

import numpy as np
import pytest

from privtally.errors import DocumentError
from privtally.lab.paper.data import data_directory, load_dataset
from tests.lab.paper.data import DIRECTORY, needs_data


@needs_data
@pytest.mark.parametrize(("name", "people"), [("Adult", 10_000), ("Mushroom", 8_000), ("Clave", 10_000)])
def test_rows_equal_the_authors_inputs_in_order(name: str, people: int) -> None:
    assert DIRECTORY is not None
    codes = load_dataset(name, DIRECTORY).codes
    theirs = DIRECTORY / "authors_preprocessed" / f"{name.lower()}.csv"
    if not theirs.exists():
        pytest.skip("the authors' own inputs are not in the data directory")
    assert len(codes) == people
    assert np.array_equal(codes, np.loadtxt(theirs, delimiter=",", skiprows=1, dtype=int))


@needs_data
def test_kinds_of_different_things_have_different_labels() -> None:
    """Stalk roots and ring types: a label that they had in common would be an accident of numbering."""
    first, second = load_dataset("Mushroom", DIRECTORY).schema.attributes
    assert (first.labels, second.labels) == (tuple("?bcer"), tuple("eflnp"))


def test_another_file_is_refused_with_both_hashes(tmp_path: Path) -> None:
    (tmp_path / "clave").mkdir()
    (tmp_path / "clave" / "ClaveVectors_Firm-Teacher_Model.txt").write_text("0 1\n")
    with pytest.raises(DocumentError, match=r"has the SHA-256 [0-9a-f]{64}, the paper's file has a37d311a"):
        load_dataset("Clave", tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"agaricus-lepiota\.data: there is no such file"):
        load_dataset("Mushroom", tmp_path)


def test_the_directory_comes_from_the_option_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVTALLY_DATA_DIR", "from/environment")
    assert data_directory(Path("named")) == Path("named")
    assert data_directory(None) == Path("from/environment")
    monkeypatch.delenv("PRIVTALLY_DATA_DIR")
    assert data_directory(None) is None


def test_without_a_directory_a_failed_download_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("pooch.retrieve", offline)
    with pytest.raises(DocumentError, match=r"cannot download .* name a directory by --data-dir"):
        load_dataset("Clave", None)

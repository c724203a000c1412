"""Clave, Mushroom and Adult as the paper uses them, from the files that the UCI repository publishes.

The files come from a directory that the user names, or are downloaded by pooch (the extra `lab`). Either way every
file is checked against its SHA-256 before it is used. None of the data is part of this project.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privtally.errors import DocumentError
from privtally.schema import Records, Schema

DIRECTORY_VARIABLE = "PRIVTALLY_DATA_DIR"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True)
class Raw:
    """A file as UCI publishes it: its path below the data directory, its address and its hash."""

    path: str
    url: str
    sha256: str


ADULT_DATA = Raw(
    "adult/adult.data", f"{UCI}/adult/adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
)
ADULT_TEST = Raw(
    "adult/adult.test", f"{UCI}/adult/adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"
)
MUSHROOM = Raw(
    "mushroom/agaricus-lepiota.data",
    f"{UCI}/mushroom/agaricus-lepiota.data",
    "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
)
CLAVE = Raw(
    "clave/ClaveVectors_Firm-Teacher_Model.txt",
    f"{UCI}/00324/ClaveVectors_Firm-Teacher_Model.txt",
    "a37d311a3675fe62d4ebcdab22cc965608f5176e949e2d1266225aefa63e800e",
)

STALK_ROOT, RING_TYPE = "?bcer", "eflnp"


def load_dataset(name: str, directory: Path | None) -> Records:
    """The paper's input: some attributes of some people, drawn and ordered as the authors did."""
    rows = {"Adult": _adult, "Mushroom": _mushroom, "Clave": _clave}[name](directory)
    people = {"Adult": 10_000, "Mushroom": 8_000, "Clave": 10_000}[name]
    labels = {"Mushroom": [STALK_ROOT, RING_TYPE]}.get(name, ["01"] * len(rows[0]))
    codes = np.array(rows, dtype=np.uint8)
    # The authors' sample: the first people of a permutation by the generator that NumPy keeps for old seeds.
    order = np.random.RandomState(42).permutation(len(codes))[:people]
    schema = Schema.of({f"X{own}": list(letters) for own, letters in enumerate(labels, start=1)})
    return Records(schema, codes[order])


def data_directory(named: Path | None) -> Path | None:
    """The directory that the user named, on the command line or in the environment."""
    if named is not None:
        return named
    variable = os.environ.get(DIRECTORY_VARIABLE)
    return Path(variable) if variable else None


def _adult(directory: Path | None) -> list[list[int]]:
    lines = [*_lines(ADULT_DATA, directory), *_lines(ADULT_TEST, directory)[1:]]
    fields = [line.split(", ") for line in lines if line.strip()]
    return [
        [int(row[5].startswith("Married")), int(row[7] in ("Husband", "Wife")), int(row[9] == "Female")]
        for row in fields
    ]


def _mushroom(directory: Path | None) -> list[list[int]]:
    fields = [line.split(",") for line in _lines(MUSHROOM, directory) if line.strip()]
    return [[STALK_ROOT.index(row[11]), RING_TYPE.index(row[19])] for row in fields]


def _clave(directory: Path | None) -> list[list[int]]:
    # Some lines end in a comment: only the first 20 fields are data.
    fields = [line.split()[:20] for line in _lines(CLAVE, directory) if line.strip()]
    return [[int(row[1]), int(row[18])] for row in fields]


def _lines(raw: Raw, directory: Path | None) -> Sequence[str]:
    path = _fetch(raw) if directory is None else directory / raw.path
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise DocumentError(f"cannot read {path}: {fault.strerror}") from None
    found = hashlib.sha256(data).hexdigest()
    if found != raw.sha256:
        raise DocumentError(f"{path} has the SHA-256 {found}, the paper's file has {raw.sha256}; get the original")
    return data.decode("latin-1").splitlines()


def _fetch(raw: Raw) -> Path:
    """Download a file from UCI into the user's cache."""
    try:
        import pooch
    except ImportError:
        raise DocumentError(
            f"name a directory with the UCI files by --data-dir or {DIRECTORY_VARIABLE}, "
            "or install what downloads them: pip install 'privtally[lab]'"
        ) from None
    try:
        return Path(pooch.retrieve(raw.url, known_hash=f"sha256:{raw.sha256}", path=pooch.os_cache("privtally")))
    except (OSError, ValueError) as fault:
        raise DocumentError(
            f"cannot download {raw.url}: {type(fault).__name__}; name a directory by --data-dir"
        ) from None

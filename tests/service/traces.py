"""Looking for many byte strings in all files of a store at once."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

HEAD, CHUNK = 3, 1 << 22


def found_in(content: bytes, sought: Collection[bytes]) -> set[bytes]:
    """Those of some byte strings that occur in a content. Each position is looked up once, however many are sought."""
    by_head = defaultdict(list)
    for own in sought:
        assert len(own) > HEAD
        by_head[own[:HEAD]].append(own)
    begins = np.zeros(1 << (8 * HEAD), dtype=bool)
    begins[[int.from_bytes(head, "little") for head in by_head]] = True
    positions = np.ndarray(max(len(content) - HEAD, 0), dtype="<u4", buffer=content, strides=(1,))
    found: set[bytes] = set()
    for start in range(0, len(positions), CHUNK):
        heads = positions[start : start + CHUNK] & (len(begins) - 1)
        for place in (np.flatnonzero(begins[heads]) + start).tolist():
            found |= {own for own in by_head[content[place : place + HEAD]] if content.startswith(own, place)}
    return found


def traces(files: Iterable[Path], sought: Collection[bytes]) -> dict[Path, set[bytes]]:
    """What is found in which file; files with nothing are left out."""
    found = {path: found_in(_content(path), sought) for path in files}
    return {path: own for path, own in found.items() if own}


def _content(path: Path) -> bytes:
    """What a file holds; nothing if it is a folder or a socket, or was removed by now."""
    try:
        return path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return b""

"""Whether a file compressed by zstd is whole: the engine takes one that was cut short for a shorter one.

The format is RFC 8878's: frames of blocks, each with its length, the last of a frame marked as such. Only lengths are
read here; what is in the blocks is for the engine to unpack.
"""

import os
from pathlib import Path
from typing import BinaryIO

from privtally.errors import DocumentError
from privtally.files import unreadable

_FRAME, _SKIPPED = 0xFD2FB528, range(0x184D2A50, 0x184D2A60)
_RUN, _RESERVED = 1, 3
"""Kinds of blocks: one byte many times, and a kind that does not exist."""


def check_whole(path: Path) -> None:
    """Refuse a file that is not a sequence of whole frames."""
    try:
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size
            while file.tell() < end:
                _pass_frame(file)
            whole = file.tell() == end > 0
    except (ValueError, EOFError):
        whole = False
    except OSError as fault:
        raise DocumentError(unreadable(path, fault)) from None
    if not whole:
        raise DocumentError(f"{path} cannot be read as compressed by zstd; it may be cut short or of another kind")


def _pass_frame(file: BinaryIO) -> None:
    magic = _number(file, 4)
    if magic in _SKIPPED:
        file.seek(_number(file, 4), os.SEEK_CUR)
        return
    if magic != _FRAME:
        raise ValueError("no frame begins here")
    descriptor = _number(file, 1)
    single = descriptor >> 5 & 1
    dictionary = (0, 1, 2, 4)[descriptor & 3]
    size = (single, 2, 4, 8)[descriptor >> 6]
    file.seek((0 if single else 1) + dictionary + size, os.SEEK_CUR)
    last = False
    while not last:
        block = _number(file, 3)
        last, kind = bool(block & 1), block >> 1 & 3
        if kind == _RESERVED:
            raise ValueError("there is no such block")
        file.seek(1 if kind == _RUN else block >> 3, os.SEEK_CUR)
    file.seek(4 * (descriptor >> 2 & 1), os.SEEK_CUR)  # a checksum


def _number(file: BinaryIO, size: int) -> int:
    found = file.read(size)
    if len(found) < size:
        raise EOFError
    return int.from_bytes(found, "little")

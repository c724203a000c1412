"""A disk that forgets: after a power cut only what was synced is sure to be there.

Any part of what was written since the last sync of a file may have reached the disk, in any order. A picture of the
disk after a power cut is taken while the database goes on, so that one run gives many cuts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import apsw

Picture = dict[str, bytes]


@dataclass
class Medium:
    """A file: what was synced, and the writes since."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Where each write began and what was written, or None where the file was cut off there."""

    def sync(self) -> None:
        self.synced = _applied(self.synced, self.pending)
        self.pending = []

    def after_a_cut(self, chance: Random) -> bytes:
        reached = [write for write in self.pending if chance.random() < 0.5]
        return bytes(_applied(bytearray(self.synced), reached))


def _applied(content: bytearray, writes: list[tuple[int, bytes | None]]) -> bytearray:
    for start, data in writes:
        if data is None:
            del content[start:]
            continue
        content.extend(bytes(max(0, start - len(content))))
        content[start : start + len(data)] = data
    return content


class ForgetfulDisk(apsw.VFS):
    """A file system of SQLite's that knows what a power cut would leave of its files."""

    def __init__(self, name: str, on_step: Callable[["ForgetfulDisk"], None]) -> None:
        self.media: dict[str, Medium] = {}
        self.name, self.on_step = name, on_step
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802  # SQLite's name
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.media.pop(filename, None)
        super().xDelete(filename, syncdir)

    def picture(self, chance: Random) -> Picture:
        """What a power cut would leave now. The index of the log lives in memory and is always gone."""
        return {name: own.after_a_cut(chance) for name, own in self.media.items() if not name.endswith("-shm")}


class _File(apsw.VFSFile):
    def __init__(self, disk: ForgetfulDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        filename = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self._disk, self._medium = disk, disk.media.setdefault(filename, Medium())

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self._medium.pending.append((offset, bytes(data)))
        self._disk.on_step(self._disk)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._medium.pending.append((newsize, None))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._medium.sync()
        self._disk.on_step(self._disk)


def restore(picture: Picture, folder: Path) -> Path:
    """Put what was left into an empty folder; the path of the database in it."""
    for name, content in picture.items():
        (folder / Path(name).name).write_bytes(content)
    return folder / "store.db"

"""Files: what is read is bounded and named, what is written is whole and goes where the user said."""

import errno
import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from privtally import files
from privtally.documents.plan import design
from privtally.errors import DocumentError
from tests.support import schema_of


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    path = tmp_path / "new"
    before = os.umask(0o027)
    try:
        files.write_bytes(path, b"x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o664])
def test_what_replaces_a_file_takes_its_mode_and_nobody_else_can_read_it_before(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(mode)
    with files.write_whole(path) as file:
        file.write(b"secret")
        (draft,) = (own for own in tmp_path.iterdir() if own != path)
        assert draft.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == b"secret"
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, there: bool) -> None:
    (tmp_path / "place").mkdir()
    target, link = tmp_path / "place" / "target", tmp_path / "link"
    if there:
        target.write_bytes(b"old")
    link.symlink_to(target)
    files.write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link", "place", "target"]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(DocumentError, match="cannot write"):
        files.write_bytes(tmp_path / "a", b"x")


def test_a_directory_is_refused_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="it is a directory"):
        files.write_bytes(tmp_path, b"x")


def test_a_name_that_the_system_refuses_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    files.check_output(path, [tmp_path])
    with pytest.raises(DocumentError, match="cannot write"):
        files.write_bytes(path, b"x")
    with pytest.raises(DocumentError, match="cannot write"), files.write_whole_directory(path):
        pass


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    files.write_bytes(pipe, b"x")
    reader.join(timeout=60)
    assert read == [b"x"]
    assert pipe.is_fifo()


def test_a_device_is_written_to_and_stays_a_device() -> None:
    files.write_bytes(Path("/dev/null"), b"x")
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
def test_a_full_disk_is_said_of_the_path_that_was_given() -> None:
    with pytest.raises(DocumentError, match="/dev/full: No space"):
        files.write_bytes(Path("/dev/full"), b"x")


def test_an_error_names_the_path_and_leaves_no_draft(tmp_path: Path) -> None:
    def fill(file: BinaryIO) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file.name)

    with pytest.raises(DocumentError, match="out") as fault, files.write_whole(tmp_path / "out") as file:
        fill(file)
    assert "draft" not in str(fault.value)
    assert not list(tmp_path.iterdir())


def _same(path: Path) -> Path:
    return path


def _symbolic(path: Path) -> Path:
    link = path.with_name("symbolic")
    link.symlink_to(path)
    return link


def _hard(path: Path) -> Path:
    link = path.with_name("hard")
    link.hardlink_to(path)
    return link


@pytest.mark.parametrize("other_name", [_same, _symbolic, _hard])
def test_an_output_that_is_an_input_is_refused(tmp_path: Path, other_name: Callable[[Path], Path]) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"x")
    with pytest.raises(DocumentError, match="is an input"):
        files.check_output(other_name(data), [tmp_path / "gone", data])


def test_other_outputs_pass(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"x")
    files.check_output(None, [data])
    files.check_output(tmp_path / "new", [data])
    files.check_output(files.STANDARD, [files.STANDARD, data])
    files.check_output(Path("/dev/null"), [Path("/dev/null")])


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"PAR1\x15\x04", "Parquet"),
        (gzip.compress(b"x", mtime=0), "gzip"),
        (b"PK\x03\x04\x14", "ZIP"),
        ("é".encode("utf-16"), "UTF-16"),
    ],
)
def test_files_of_other_kinds_are_named(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(DocumentError, match=kind):
        files.read_plan(path)


def test_an_endless_document_is_refused() -> None:
    with pytest.raises(DocumentError, match="64 MiB"):
        files.read_plan(Path("/dev/zero"))


def test_a_byte_order_mark_is_no_part_of_a_document(tmp_path: Path) -> None:
    schema = schema_of((2, 3))
    plan = design(schema, 1.0, "spl")
    mark = "\ufeff".encode()
    (tmp_path / "plan.json").write_bytes(mark + plan.dump())
    assert files.read_plan(tmp_path / "plan.json") == plan
    assert files.read_document(tmp_path / "plan.json") == plan
    (tmp_path / "s.TOML").write_bytes(mark + b'[[attributes]]\nname = "q"\nlabels = ["a", "b"]\n')
    assert files.read_schema(tmp_path / "s.TOML").names == ("q",)
    (tmp_path / "s.json").write_bytes(mark + b'{"attributes": [{"name": "q", "labels": ["a", "b"]}]}')
    assert files.read_schema(tmp_path / "s.json").names == ("q",)

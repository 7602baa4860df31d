import hashlib
import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from handoff_memory.core.errors import (
    FileChangedError,
    FileTooLargeError,
    FileUnreadableError,
    MemoryFault,
    NotAFileError,
    PathOutsideRootsError,
)
from handoff_memory.fileops import locate, opened, read_file, windows_fault

LIMIT = 1 << 20
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_bytes(b"inside")
    (tmp_path / "secret.txt").write_bytes(b"outside")
    return folder


def test_a_file_below_a_root_is_read_whole(root: Path) -> None:
    path = root / "sub" / "a.txt"

    found = read_file(str(path), [root], LIMIT)

    assert found.data == b"inside"
    assert found.sha256 == hashlib.sha256(b"inside").hexdigest()
    assert found.mtime_ns == path.stat().st_mtime_ns
    assert found.path == str(path.resolve())


def test_an_empty_file_is_a_file(root: Path) -> None:
    (root / "empty").touch()

    assert read_file("empty", [root], 0).data == b""


def test_a_large_file_is_read_in_pieces(root: Path) -> None:
    data = os.urandom(3 << 20)
    (root / "large").write_bytes(data)

    assert read_file("large", [root], len(data)).data == data


def test_a_relative_path_is_looked_for_below_each_root(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_bytes(b"b")

    assert read_file("sub/a.txt", [other, root], LIMIT).data == b"inside"
    assert read_file("b.txt", [root, other], LIMIT).data == b"b"
    assert read_file("sub/../sub/./a.txt", [root], LIMIT).data == b"inside"


def test_without_roots_nothing_is_read(root: Path) -> None:
    with pytest.raises(PathOutsideRootsError, match="empty"):
        read_file(str(root / "sub" / "a.txt"), [], LIMIT)


@pytest.mark.parametrize("name", ["../secret.txt", "sub/../../secret.txt", "../root2/x", "..", "/"])
def test_a_path_out_of_the_root_is_refused(root: Path, name: str) -> None:
    with pytest.raises(PathOutsideRootsError):
        read_file(name, [root], LIMIT)


def test_an_absolute_path_elsewhere_is_refused_whether_it_exists_or_not(
    root: Path, tmp_path: Path
) -> None:
    for path in (tmp_path / "secret.txt", tmp_path / "missing.txt"):
        with pytest.raises(PathOutsideRootsError):
            read_file(str(path), [root], LIMIT)


def test_a_folder_whose_name_begins_like_a_root_is_outside(root: Path, tmp_path: Path) -> None:
    sibling = tmp_path / "root-2"
    sibling.mkdir()
    (sibling / "a").touch()

    with pytest.raises(PathOutsideRootsError):
        read_file(str(sibling / "a"), [root], LIMIT)


@posix
def test_a_link_out_of_a_root_is_refused_and_one_within_is_followed(
    root: Path, tmp_path: Path
) -> None:
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "out").symlink_to(tmp_path)
    (root / "in.txt").symlink_to("sub/a.txt")

    for name in ("out.txt", "out/secret.txt", "out/root/../secret.txt"):
        with pytest.raises(PathOutsideRootsError):
            read_file(name, [root], LIMIT)
    assert read_file("in.txt", [root], LIMIT).path == str((root / "sub" / "a.txt").resolve())


@posix
def test_a_root_may_itself_be_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)

    assert read_file("sub/a.txt", [tmp_path / "link"], LIMIT).data == b"inside"


@posix
def test_links_in_a_loop_are_refused(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")

    with pytest.raises((FileChangedError, NotAFileError)):
        read_file("a", [root], LIMIT)


@posix
@pytest.mark.parametrize("kind", ["folder", "pipe", "socket"])
def test_what_is_no_regular_file_is_refused_without_blocking(
    root: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    if kind == "folder":
        Path("x").mkdir()
    elif kind == "pipe":
        os.mkfifo("x")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("x")

    with pytest.raises(NotAFileError, match=kind):
        read_file("x", [root], LIMIT)


@posix
def test_the_root_itself_is_no_file(root: Path) -> None:
    with pytest.raises(NotAFileError):
        read_file(str(root), [root], LIMIT)


@posix
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/proc/self/environ", "/dev", "/sys/x"])
def test_devices_and_kernel_files_are_refused_even_below_the_root_of_all(path: str) -> None:
    with pytest.raises(NotAFileError):
        read_file(path, [Path("/")], LIMIT)


def test_a_missing_file_is_said_to_be_missing(root: Path) -> None:
    with pytest.raises(FileUnreadableError, match="does not exist"):
        read_file("missing", [root], LIMIT)


@posix
def test_a_file_is_no_folder(root: Path) -> None:
    with pytest.raises(FileUnreadableError, match="Not a directory"):
        read_file("sub/a.txt/b", [root], LIMIT)


@posix
def test_a_name_that_is_too_long_is_refused(root: Path) -> None:
    with pytest.raises(FileUnreadableError):
        read_file("x" * 5000, [root], LIMIT)


@posix
@pytest.mark.skipif(sys.platform != "win32" and os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_refused(root: Path) -> None:
    (root / "sub" / "a.txt").chmod(0)

    with pytest.raises(FileUnreadableError):
        read_file("sub/a.txt", [root], LIMIT)


@pytest.mark.parametrize("name", ["", "a\0b", "\0"])
def test_a_name_that_can_name_no_file_is_refused(root: Path, name: str) -> None:
    with pytest.raises(FileUnreadableError):
        read_file(name, [root], LIMIT)


@posix
def test_names_that_are_no_utf_8_are_refused(root: Path) -> None:
    named = os.fsencode(root) + b"/\xff.txt"
    try:
        Path(os.fsdecode(named)).write_bytes(b"x")
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    (root / "link.txt").symlink_to(os.fsdecode(named))

    for name in ("\udcff.txt", "link.txt"):
        with pytest.raises(FileUnreadableError, match="UTF-8") as caught:
            read_file(name, [root], LIMIT)
        assert caught.value.message.encode()


def test_a_file_over_the_limit_is_refused_with_its_size(root: Path) -> None:
    (root / "big").write_bytes(b"x" * 1001)

    with pytest.raises(FileTooLargeError) as caught:
        read_file("big", [root], 1000)

    assert caught.value.facts == {"size_bytes": 1001, "limit_bytes": 1000}


@pytest.mark.parametrize("change", ["grown", "cut", "touched", "rewritten"])
def test_a_file_that_changes_while_it_is_read_is_refused(root: Path, change: str) -> None:
    path = root / "sub" / "a.txt"

    with opened(locate("sub/a.txt", [root])) as file:
        if change == "grown":
            path.write_bytes(b"inside and more")
        elif change == "cut":
            path.write_bytes(b"in")
        elif change == "touched":
            os.utime(path, ns=(1, 1))
        else:
            path.write_bytes(b"INSIDE")
            os.utime(path, ns=(2, 2))
        with pytest.raises(FileChangedError):
            file.read(LIMIT)


@posix
@pytest.mark.parametrize("swapped", ["file", "folder", "root"])
def test_a_link_swapped_in_after_the_check_leads_nowhere(
    root: Path, tmp_path: Path, swapped: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "a.txt").write_bytes(b"outside")
    (outside / "sub" / "a.txt").write_bytes(b"outside")
    place = locate("sub/a.txt", [root])

    target = {"file": root / "sub" / "a.txt", "folder": root / "sub", "root": root}[swapped]
    target.rename(tmp_path / "away")
    target.symlink_to(outside / "a.txt" if swapped == "file" else outside)

    with pytest.raises((FileChangedError, NotAFileError, FileUnreadableError)), opened(place):
        pass


@posix
def test_a_race_for_the_file_never_gives_bytes_from_outside(root: Path, tmp_path: Path) -> None:
    path, spare = root / "sub" / "a.txt", root / "spare"
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            spare.symlink_to(tmp_path / "secret.txt")
            spare.replace(path)
            spare.write_bytes(b"inside")
            spare.replace(path)

    swapping = threading.Thread(target=swap)
    swapping.start()
    found = set()
    try:
        for _ in range(500):
            try:
                found.add(read_file("sub/a.txt", [root], LIMIT).data)
            except MemoryFault as fault:
                found.add(fault.code.encode())
    finally:
        ended.set()
        swapping.join()

    assert b"outside" not in found


@pytest.mark.parametrize(
    "path",
    [
        r"\\?\C:\x",
        r"\\.\PhysicalDrive0",
        r"\\server\share\x",
        "//?/C:/x",
        r"C:\a\file.txt:stream",
        "a.txt::$DATA",
        "CON",
        "sub/nul.txt",
        r"C:\com1",
        "COM¹.log",
        "aux ",
        "a.txt.",
        "dir./a",
    ],
)
def test_names_that_windows_reads_as_something_else_are_known(path: str) -> None:
    assert windows_fault(path) is not None


@pytest.mark.parametrize(
    "path", [r"C:\a\b.txt", "../a/./b", "console.log", "com10", "lpt.txt", "a b"]
)
def test_plain_names_are_fine_on_windows(path: str) -> None:
    assert windows_fault(path) is None

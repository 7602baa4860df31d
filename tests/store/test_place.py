from __future__ import annotations

import os
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from handoff_memory.core.errors import (
    DatabaseFullError,
    DatabaseMissingError,
    DatabaseReplacedError,
    NetworkFilesystemError,
    NotADatabaseError,
    ReadOnlyDatabaseError,
)
from handoff_memory.store.place import (
    NETWORK_FILESYSTEMS,
    Identity,
    Watch,
    filesystem_type,
    prepare,
)

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX files and permissions")
mounts = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount"
)

IMPORT = """
import atexit, ctypes, os, platform, struct, sys
from pathlib import Path
from handoff_memory.core.errors import StorageError
from handoff_memory.store.place import Watch, prepare
"""
# Permission bits do not bind root. Dropped after the imports, since its Python may be hidden, and
# taken back at the end, since coverage writes its file there.
DROP_ROOT = """
if hasattr(os, "geteuid") and os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setresuid(65534, 65534, 0)
    atexit.register(os.seteuid, 0)
"""
PREPARE = """
if "wait" in sys.argv:
    print("ready", flush=True)
    sys.stdin.readline()
try:
    prepare(Path(sys.argv[1]))
except StorageError as error:
    print(error.code)
else:
    print("prepared")
"""
NO_HARD_LINKS = """
LINKS = {"x86_64": (86, 265), "aarch64": (37, 37)}[platform.machine()]
code = [(0x20, 0, 0, 0), (0x15, 2, 0, LINKS[0]), (0x15, 1, 0, LINKS[1]),
        (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(program)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, fprog, 0, 0) == 0
try:
    os.link("/nowhere", "/nowhere")
except PermissionError:
    pass  # and not FileNotFoundError: the filter works
"""


def ending(path: Path, before: str = DROP_ROOT, code: str = PREPARE) -> str:
    """How another process fares with path."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT + before + code, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can reach, other than pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@contextmanager
def mounted(point: Path, kind: str, options: str, pass_fds: tuple[int, ...] = ()) -> Iterator[Path]:
    point.mkdir()
    command = ["mount", "-i", "-t", kind, "-o", options, "none", str(point)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, pass_fds=pass_fds)
    if done.returncode:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# --- prepare: what it makes ------------------------------------------------------------------


def test_a_missing_file_is_created_empty(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"

    prepare(path)

    assert path.read_bytes() == b""
    assert names_in(tmp_path) == ["memory.db"]


@posix
def test_file_and_new_folders_are_for_their_owner_only_and_old_folders_stay(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "a" / "b" / "memory.db"

    prepare(path)

    assert [mode_of(p) for p in (path, path.parent, path.parent.parent)] == [0o600, 0o700, 0o700]
    assert mode_of(tmp_path) == 0o755


@posix
def test_an_existing_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"kept")
    path.chmod(0o640)
    before = path.stat()

    prepare(path)

    assert path.stat() == before


def test_a_relative_path_is_below_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    prepare(Path("memory.db"))
    prepare(Path("a/memory.db"))

    assert (tmp_path / "memory.db").is_file()
    assert (tmp_path / "a" / "memory.db").is_file()


@posix
def test_a_folder_may_be_reached_through_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    prepare(tmp_path / "link" / "memory.db")

    assert (tmp_path / "real" / "memory.db").is_file()


def test_nine_processes_at_once_all_succeed_and_leave_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "memory.db"
    command = [sys.executable, "-c", IMPORT + PREPARE, str(path), "wait"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    racers = [subprocess.Popen(command, **pipes) for _ in range(9)]
    assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 9

    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()

    assert [racer.communicate()[0] for racer in racers] == ["prepared\n"] * 9
    assert names_in(path.parent) == ["memory.db"]
    assert path.lstat().st_nlink == 1


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"),
    reason="denies the link system calls with a seccomp filter",
)
def test_where_hard_links_are_unsupported_the_file_is_created_too(folder: Path) -> None:
    path = folder / "memory.db"

    assert ending(path, NO_HARD_LINKS) == "prepared"

    assert mode_of(path) == 0o600
    assert names_in(folder) == ["memory.db"]


# --- prepare: what it refuses ----------------------------------------------------------------


@posix
@pytest.mark.parametrize("target", ["elsewhere.db", "nowhere.db"], ids=["live", "dangling"])
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_symlink_is_not_followed(tmp_path: Path, target: str, suffix: str) -> None:
    (tmp_path / "elsewhere.db").touch()
    (tmp_path / f"memory.db{suffix}").symlink_to(target)

    with pytest.raises(NotADatabaseError, match=f"memory.db{suffix} is a symlink, .* not followed"):
        prepare(tmp_path / "memory.db")

    assert not (tmp_path / "nowhere.db").exists()


@posix
def test_a_folder_a_pipe_a_socket_and_a_device_are_refused(folder: Path) -> None:
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(folder / "socket"))

        for path, kind in [
            (folder / "folder", "a folder"),
            (folder / "pipe", "no regular file"),
            (folder / "socket", "no regular file"),
            (Path("/dev/null"), "no regular file"),
            (Path(), "a folder"),
            (Path("/"), "a folder"),
        ]:
            with pytest.raises(NotADatabaseError, match=kind):
                prepare(path)


@pytest.mark.parametrize("name", ["nul\0.db", "half\ud800.db", "long" * 70], ids=ascii)
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotADatabaseError) as caught:
        prepare(tmp_path / name)

    assert caught.value.message.encode()  # it can be sent, whatever the name was
    assert names_in(tmp_path) == []


@posix
def test_a_path_that_leads_through_a_file_or_a_broken_symlink_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")

    for name in ("file/memory.db", "file/a/memory.db", "dangling/memory.db", "loop/memory.db"):
        with pytest.raises(NotADatabaseError):
            prepare(tmp_path / name)


@posix
def test_without_permission_nothing_is_created(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o555)

    assert ending(closed / "memory.db") == "database_permission"
    assert ending(closed / "a" / "memory.db") == "database_permission"
    assert names_in(closed) == []


@posix
def test_a_file_in_a_folder_that_cannot_be_searched_is_refused(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0)

    assert ending(closed / "memory.db") == "database_permission"

    closed.chmod(0o700)


@posix
@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "code"),
    [
        (0o666, 0o777, "prepared"),
        (0o444, 0o777, "database_read_only"),
        (0o666, 0o555, "database_read_only"),
        (0o222, 0o777, "database_permission"),
    ],
)
def test_an_existing_file_must_be_readable_and_writable_and_its_folder_too(
    folder: Path, file_mode: int, folder_mode: int, code: str
) -> None:
    path = folder / "memory.db"
    path.touch()
    path.chmod(file_mode)
    folder.chmod(folder_mode)

    assert ending(path) == code


@mounts
def test_a_read_only_file_system_is_named_as_such(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "tmpfs", "size=64k") as disk:
        (disk / "old.db").touch()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

        for name in ("old.db", "new.db", "folder/new.db"):
            with pytest.raises(ReadOnlyDatabaseError):
                prepare(disk / name)


@mounts
@pytest.mark.parametrize("inodes", [1, 2], ids=["no file fits", "only the temporary one fits"])
def test_a_full_file_system_is_named_as_such_and_left_clean(tmp_path: Path, inodes: int) -> None:
    with mounted(tmp_path / "disk", "tmpfs", f"size=64k,nr_inodes={inodes}") as disk:
        with pytest.raises(DatabaseFullError):
            prepare(disk / "memory.db")

        assert names_in(disk) == []


@mounts
def test_a_network_file_system_is_refused_even_when_its_server_is_gone(tmp_path: Path) -> None:
    fuse = os.open("/dev/fuse", os.O_RDWR)  # closed below: a mount whose server died
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0"
    try:
        with mounted(tmp_path / "far away", "fuse.sshfs", options, (fuse,)) as point:
            os.close(fuse)
            fuse = -1
            with pytest.raises(NetworkFilesystemError) as caught:
                prepare(point / "a" / "memory.db")
    finally:
        if fuse >= 0:
            os.close(fuse)

    assert caught.value.facts == {"filesystem": "fuse.sshfs", "mount_point": str(point)}
    assert "fuse.sshfs" in caught.value.message
    assert str(point) in caught.value.message


# --- filesystem_type -------------------------------------------------------------------------

MOUNTINFO = """\
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 27 0:21 / /proc rw,relatime shared:5 master:2 - proc proc rw
40 27 0:40 / /srv rw - xfs /dev/vdb rw
41 40 0:41 / /srv/share rw - nfs4 server:/share rw,vers=4.2
42 41 0:42 / /srv/share/fast rw - ext4 /dev/vdc rw
43 27 0:43 / /mnt/with\\040a\\011tab\\134 rw - cifs //server/it rw
44 27 0:44 / /mnt/twice rw - nfs server:/one rw
45 44 0:45 / /mnt/twice rw - ext4 /dev/vdd rw
46 27 0:46 / /mnt/thrice rw - ext4 /dev/vde rw
47 46 0:47 / /mnt/thrice rw - fuse.sshfs me@server:/ rw
48 27 0:48 /a - b /mnt/c rw,noatime - 9p C:\\134 rw,aname=drvfs
a line of another kind
49 27
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mountinfo is Linux's")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/home/me/memory.db", "ext4"),
        ("/srv/memory.db", "xfs"),
        ("/srv/share", "nfs4"),
        ("/srv/share/team/memory.db", "nfs4"),
        ("/srv/shared/memory.db", "xfs"),
        ("/srv/share/fast/memory.db", "ext4"),
        ("/mnt/with a\ttab\\/memory.db", "cifs"),
        ("/mnt/twice/memory.db", "ext4"),
        ("/mnt/thrice/memory.db", "fuse.sshfs"),
        ("/srv/share/fast/../memory.db", "nfs4"),
    ],
)
def test_the_longest_and_latest_mount_above_a_path_gives_its_type(path: str, kind: str) -> None:
    assert filesystem_type(Path(path), MOUNTINFO) == kind


@posix
def test_symlinks_are_resolved_before_the_mount_is_looked_up(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/srv/share")

    assert filesystem_type(tmp_path / "link" / "memory.db", MOUNTINFO) == "nfs4"


def test_an_unknown_file_system_has_no_type(tmp_path: Path) -> None:
    assert filesystem_type(tmp_path, "") is None
    assert filesystem_type(tmp_path, "nonsense\n\n - \n1 2 3 - x y") is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads mountinfo")
def test_the_type_below_a_real_path_is_what_df_says(tmp_path: Path) -> None:
    said = subprocess.run(
        ["df", "--output=fstype", str(tmp_path)], capture_output=True, text=True, check=True
    )

    assert filesystem_type(tmp_path / "not" / "there") == said.stdout.split()[1]
    assert filesystem_type(Path("/proc/self")) == "proc"


def test_what_another_machine_serves_is_refused_and_what_is_local_is_not() -> None:
    served = "nfs nfs4 cifs smb3 9p virtiofs fuse.sshfs fuse.s3fs fuse.rclone fuse.glusterfs ceph"
    local = "ext4 xfs btrfs zfs tmpfs overlay f2fs apfs hfs vfat exfat ntfs3 fuseblk fuse.mergerfs"

    assert NETWORK_FILESYSTEMS.issuperset(served.split())
    assert NETWORK_FILESYSTEMS.isdisjoint(local.split())


# --- Watch -----------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    """A database that a connection holds open, with its -wal."""
    path = tmp_path / "memory.db"
    prepare(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t(x)")
        yield path


def wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def test_a_database_at_work_passes(database: Path) -> None:
    watch = Watch(database)
    watch.settle()

    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        for statement in ("INSERT INTO t VALUES(1)", "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM"):
            other.execute(statement)
            watch.check()

    watch.check()


@posix
def test_a_deleted_file_is_missing_and_a_new_one_is_no_substitute(database: Path) -> None:
    watch = Watch(database)

    database.unlink()
    with pytest.raises(DatabaseMissingError, match="gone"):
        watch.check()

    database.touch()
    with pytest.raises(DatabaseReplacedError, match="another file"):
        watch.check()


@posix
def test_a_file_moved_away_and_back_heals(database: Path) -> None:
    watch = Watch(database)
    watch.settle()
    away = database.parent.rename(database.parent.with_name("away"))
    with pytest.raises(DatabaseMissingError):
        watch.check()

    away.rename(database.parent)

    watch.check()


@posix
def test_a_folder_that_became_a_file_means_missing(tmp_path: Path) -> None:
    path = tmp_path / "a" / "memory.db"
    prepare(path)
    watch = Watch(path)
    path.parent.rename(tmp_path / "b")
    (tmp_path / "a").touch()

    with pytest.raises(DatabaseMissingError):
        watch.check()


@posix
def test_a_symlink_in_the_place_of_the_file_is_a_replacement(database: Path) -> None:
    watch = Watch(database)

    database.symlink_to(database.rename(database.with_name("moved.db")))

    with pytest.raises(DatabaseReplacedError):
        watch.check()


@posix
def test_a_removed_or_replaced_wal_is_noticed(database: Path) -> None:
    watch = Watch(database)
    watch.settle()
    wal = wal_of(database)
    aside = wal.rename(wal.with_name("aside"))

    with pytest.raises(DatabaseReplacedError, match="-wal was removed"):
        watch.check()
    wal.touch()
    with pytest.raises(DatabaseReplacedError, match="-wal was removed"):
        watch.check()

    aside.rename(wal)
    watch.check()


@posix
def test_a_wal_that_was_not_settled_is_not_watched(database: Path) -> None:
    watch = Watch(database)

    wal_of(database).unlink()
    watch.check()
    watch.settle()

    watch.check()


def test_there_is_nothing_to_watch_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(DatabaseMissingError):
        Watch(tmp_path / "memory.db")


@posix
def test_the_watch_follows_no_change_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(Path("memory.db"))
    watch = Watch(Path("memory.db"))

    monkeypatch.chdir("/")

    watch.check()


@posix
def test_a_folder_closed_later_is_reported_as_a_matter_of_permission(folder: Path) -> None:
    code = """
path = Path(sys.argv[1])
prepare(path)
watch = Watch(path)
path.parent.chmod(0)
try:
    watch.check()
except StorageError as error:
    print(error.code)
path.parent.chmod(0o700)
"""

    assert ending(folder / "a" / "memory.db", code=code) == "database_permission"


def test_where_files_have_no_numbers_all_are_the_same() -> None:
    assert Identity(1, 2).is_same(Identity(1, 2))
    assert not Identity(1, 2).is_same(Identity(1, 3))
    assert not Identity(1, 2).is_same(Identity(2, 2))
    assert Identity(1, 0).is_same(Identity(1, 3))
    assert Identity(1, 3).is_same(Identity(1, 0))


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_preparing_and_watching_an_open_database_drops_none_of_its_locks(
    tmp_path: Path, mode: str
) -> None:
    # Without the lock on the -shm, or in DELETE mode on the file, another process would begin; and
    # without the one on the file, it would take itself for the last and delete the -wal at its end.
    contender = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
print(*connection.execute("SELECT count(*) FROM t").fetchone())
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
connection.close()
"""
    path = tmp_path / "memory.db"
    prepare(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("CREATE TABLE t(x)")
        connection.execute("BEGIN IMMEDIATE")

        prepare(path)
        watch = Watch(path)
        watch.settle()
        watch.check()

        done = subprocess.run(
            [sys.executable, "-c", contender, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines() == ["0", "database is locked"]
        connection.execute("COMMIT")
        done = subprocess.run(
            [sys.executable, "-c", contender, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines() == ["0"]
        watch.check()

"""Where the database file lives: made safe before SQLite opens it, watched while it is open.

Nothing here opens the file by its name: when a process closes any descriptor of a file, POSIX drops
all its locks on it, SQLite's too, and acknowledged writes are lost. So the file is only looked at.
Whether its bytes are a database of ours is the engine's question.
"""

import errno
import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from handoff_memory.core import errors

if sys.platform != "linux":  # pragma: no cover - Windows and macOS only
    import ctypes

# WAL needs one mapping of the -shm that every process sees at once, and locks that bind all: what
# has another machine behind it is refused. Local FUSE (fuseblk, mergerfs) and the unknown pass.
_SERVERS = """nfs nfs4 cifs smb3 smbfs ncpfs afs coda ceph glusterfs lustre gpfs beegfs pvfs2 panfs
    gfs2 ocfs2 afpfs webdav ftp remote"""  # "remote": what _mount calls a Windows network drive
_FUSE_SERVERS = """nfs smbnetfs gvfsd-fuse sshfs curlftpfs davfs glusterfs ceph ceph-fuse mfs
    juicefs seaweedfs s3fs goofys gcsfuse rclone blobfuse blobfuse2 mount-s3 mountpoint-s3"""
# A machine's folders inside its guest: WSL's Windows drives (9p) lack shared maps; those of Docker
# Desktop, Podman and OrbStack on macOS (virtiofs) corrupt a database within a minute of writing:
# https://github.com/NousResearch/hermes-agent/issues/110848, gsd-build/gsd-2/issues/5106.
_GUEST_FOLDERS = "9p virtiofs fakeowner vboxsf vmhgfs prl_fs"
_FUSE_GUEST_FOLDERS = "virtiofs grpcfuse osxfs vmhgfs-fuse"
NETWORK_FILESYSTEMS = frozenset(f"{_SERVERS} {_GUEST_FOLDERS}".split()) | {
    f"fuse.{name}" for name in f"{_FUSE_SERVERS} {_FUSE_GUEST_FOLDERS}".split()
}

_SUFFIXES = ("", "-wal", "-shm", "-journal")  # SQLite would write through a symlink at any of them
_KINDS = {stat.S_IFLNK: "a symlink, and symlinks are not followed", stat.S_IFDIR: "a folder"}
_FAULTS: tuple[tuple[type[errors.StorageError], set[int]], ...] = (
    (errors.DatabasePermissionError, {errno.EACCES, errno.EPERM}),
    (errors.ReadOnlyDatabaseError, {errno.EROFS}),
    (errors.DatabaseFullError, {errno.ENOSPC, errno.EDQUOT}),
    (errors.NotADatabaseError, {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL}),
    (errors.NotADatabaseError, {errno.ENAMETOOLONG}),
)


def prepare(path: Path) -> None:
    """Make sure that a regular file can be opened at path; new ones are for their owner only.

    Raises:
        NotADatabaseError: path, or a file that SQLite keeps beside it, is no regular file.
        NetworkFilesystemError: WAL would lose writes there.
        DatabasePermissionError, ReadOnlyDatabaseError, DatabaseFullError, DatabaseIoError
    """
    try:
        kind, point = _mount(path, None) or ("", "")
        if kind in NETWORK_FILESYSTEMS:
            message = f"{_shown(path)} is on a {kind} file system, mounted at {_shown(point)}"
            raise errors.NetworkFilesystemError(message, filesystem=kind, mount_point=_shown(point))
        _refuse_other_kinds(path)
        if not os.path.lexists(path):
            _create(path)
            _refuse_other_kinds(path)
    except OSError as error:
        raise _fault(path, error) from error
    except ValueError as error:  # a NUL, or half a character
        raise errors.NotADatabaseError(f"{_shown(path)} can name no file: {error}") from error
    if not os.access(path, os.R_OK):
        raise errors.DatabasePermissionError(f"{_shown(path)} cannot be read by this user")
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        raise errors.ReadOnlyDatabaseError(f"{_shown(path)} or its folder cannot be written")


def _refuse_other_kinds(path: Path) -> None:
    for name in (f"{path}{suffix}" for suffix in _SUFFIXES):
        with suppress(FileNotFoundError):
            mode = os.lstat(name).st_mode
            if not stat.S_ISREG(mode):
                kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
                raise errors.NotADatabaseError(f"{_shown(name)} is {kind}")


def _create(path: Path) -> None:
    """Put an empty file at path unless something is there, without ever opening that name."""
    for folder in reversed(path.parents):
        if not folder.is_dir():
            with suppress(FileExistsError):  # another process was faster, here and below
                folder.mkdir(mode=0o700)
    temporary = path.with_name(f".handoff-memory-{os.urandom(8).hex()}")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(temporary, flags, 0o600))
    try:
        with suppress(FileExistsError):
            os.link(temporary, path)
    except OSError:  # no hard links here (FAT, say); these calls do not overwrite either
        with suppress(FileExistsError):
            if sys.platform == "win32":  # pragma: no cover - Windows only
                temporary.rename(path)
            else:
                os.mknod(path, stat.S_IFREG | 0o600)
    finally:
        temporary.unlink(missing_ok=True)


def _fault(path: Path | str, error: OSError) -> errors.StorageError:
    kinds = (kind for kind, numbers in _FAULTS if error.errno in numbers)
    return next(kinds, errors.DatabaseIoError)(f"{_shown(path)}: {error.strerror or error}")


def _shown(path: Path | str) -> str:
    # A name that is no UTF-8 arrives with lone surrogates, which no JSON reply can carry.
    return str(path).encode("utf-8", "backslashreplace").decode()


def filesystem_type(path: Path, mountinfo: str | None = None) -> str | None:
    """The name of the file system below path, which need not exist; None if it cannot be told."""
    return (_mount(path, mountinfo) or (None,))[0]


def _mount(path: Path, mountinfo: str | None) -> tuple[str, str] | None:
    """The file system's type, and where it is mounted. Source: proc_pid_mountinfo(5), statfs(2)."""
    real = os.path.realpath(path)
    if mountinfo is None and sys.platform == "linux":
        with suppress(OSError):  # /proc may be hidden
            mountinfo = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
    elif mountinfo is None and sys.platform == "win32":  # pragma: no cover - Windows only
        root = Path(real).anchor
        is_share = root.startswith("\\\\") and root[2:4] not in ("?\\", ".\\")
        is_remote = ctypes.windll.kernel32.GetDriveTypeW(root) == 4  # DRIVE_REMOTE
        return ("remote", root) if is_share or is_remote else None
    elif mountinfo is None and sys.platform == "darwin":  # pragma: no cover - macOS only
        # struct statfs, 64-bit inodes: 2168 bytes, f_fstypename[16] at 72, f_mntonname[1024] at 88
        libc, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(4096)
        statfs = getattr(libc, "statfs$INODE64", None) or libc.statfs
        if any(statfs(os.fsencode(p), buffer) == 0 for p in (Path(real), *Path(real).parents)):
            kind, point = (buffer.raw[offset:].split(b"\0", 1)[0] for offset in (72, 88))
            return os.fsdecode(kind), os.fsdecode(point)
    best: tuple[str, str] | None = None
    for line in re.finditer(r"^(?:\S+ ){4}(\S+) .*? - (\S+) ", mountinfo or "", re.MULTILINE):
        at = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), line[1])
        inside = real == at or real.startswith(at.rstrip("/") + "/")
        if inside and (best is None or len(at) >= len(best[1])):  # of equals, the later one hides
            best = line[2], at
    return best


class Identity(NamedTuple):
    """Which file this is, whatever its name; an open file's is never given to another file."""

    device: int
    inode: int

    def is_same(self, other: "Identity") -> bool:
        """Whether both are one file. Where files have no numbers (Windows: 0), all are the same."""
        return self == other or 0 in (self.inode, other.inode)


class Watch:
    """Notices that the database file, or its -wal, is not the file that was opened."""

    def __init__(self, path: Path) -> None:
        self._path, self._wal_path = str(path.absolute()), f"{path.absolute()}-wal"
        self._database = _identity(self._path)
        self._wal: Identity | None = None
        self._as_it_was: tuple[int, ...] = ()
        self.check()

    def settle(self) -> None:
        """Record the -wal, once SQLite has made it. While the database is open, it stays."""
        self._wal = _identity(self._wal_path)
        known = (self._database, self._wal)
        self._as_it_was = tuple(n for one in known if one for n in (one.inode, one.device))

    def check(self) -> None:
        """Look at both names; a file that was moved away and back again is fine.

        Raises:
            DatabaseMissingError, DatabaseReplacedError
        """
        if self._is_as_it_was():
            return
        found = _identity(self._path)
        if found is None or self._database is None:
            raise errors.DatabaseMissingError(f"{_shown(self._path)} is gone")
        if not found.is_same(self._database):
            raise errors.DatabaseReplacedError(f"{_shown(self._path)} is another file now")
        wal = self._wal and _identity(self._wal_path)
        if self._wal and not (wal and wal.is_same(self._wal)):
            raise errors.DatabaseReplacedError(f"{_shown(self._wal_path)} was removed while in use")

    def _is_as_it_was(self) -> bool:
        # What nearly every look finds, in a third of the time that it takes to say what else.
        try:
            found, wal = os.lstat(self._path), os.lstat(self._wal_path)
        except OSError:
            return False
        return (found.st_ino, found.st_dev, wal.st_ino, wal.st_dev) == self._as_it_was


def _identity(path: str) -> Identity | None:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _fault(path, error) from error
    return Identity(found.st_dev, found.st_ino)

"""Every error that this program promises to give: a stable code, a sentence and a way out.

The code is for machines and never changes its meaning; the message is for people; `way_out` tells
the agent or the person what to do next. docs/errors.md is generated from this module.

    MemoryFault
     +-- InputError          the call is wrong; sending it again unchanged fails again
     |    +-- InvalidArgumentError, InvalidNameError, InvalidValueError, TooLargeError, …
     +-- StateError          the memory is not as the call assumed; read again, then decide
     |    +-- NotFoundError, VersionConflictError, AlreadyClaimedError, ClaimLostError, …
     +-- StorageError        the database cannot serve; nothing was changed
          +-- BusyError, DatabaseFullError, DatabaseReplacedError, CorruptDatabaseError, …
"""

from __future__ import annotations

from typing import Any, ClassVar


class MemoryFault(Exception):  # noqa: N818 - the root of the tree; its leaves end in Error
    """The root of all promised errors.

    Attributes:
        code: Stable identifier from a closed list.
        retryable: Whether the same call may succeed later without being changed.
        way_out: What to do next, one sentence.
        facts: What a caller needs for deciding, as JSON (current version, holder, limit …).
    """

    code: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool] = False
    way_out: ClassVar[str] = (
        "This is a fault of the server: report it with the line it wrote to stderr."
    )

    def __init__(self, message: str, *, way_out: str | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = way_out or self.way_out
        self.facts = facts


# --- the call is wrong -------------------------------------------------------------------------


class InputError(MemoryFault):
    """The call is wrong; sending it again unchanged fails again."""


class InvalidArgumentError(InputError):
    """An argument is missing, unknown, of the wrong type or out of range."""

    code = "invalid_argument"
    way_out = "Correct the named argument and call again."


class InvalidNameError(InputError):
    """A scope, key, tag, agent id or `scope/key@version` breaks a naming rule."""

    code = "invalid_name"
    way_out = "Use scope segments joined by '/', and a key without '/' or '@'."


class InvalidValueError(InputError):
    """A value is not storable JSON."""

    code = "invalid_value"
    way_out = "Send plain JSON: finite numbers, whole characters, at most 100 levels deep."


class TooLargeError(InputError):
    """A value, packet or text exceeds its limit. Nothing was stored, nothing was cut."""

    code = "too_large"
    way_out = "Store a summary here; osiris_observe can hold the whole as a ref."


class SecretRefusedError(InputError):
    """A name holds what looks like a secret; names are never redacted, so it is refused."""

    code = "secret_refused"
    way_out = "Choose a name without the secret, and put no secret into tags or agent ids."


class ReservedScopeError(InputError):
    """The scope belongs to the governor."""

    code = "reserved_scope"
    way_out = "Write below another scope; the osiris_* tools keep 'osiris/' themselves."


class RequestMismatchError(InputError):
    """The request_id was used before with other arguments."""

    code = "request_mismatch"
    way_out = "Use a fresh request_id for a different request."


class EmptyHandoffError(InputError):
    """A packet without done and next hands nothing over."""

    code = "empty_handoff"
    way_out = "Give at least one item in next (start here) or done."


class InvalidCursorError(InputError):
    """The cursor was not given out for this call."""

    code = "invalid_cursor"
    way_out = "Call without cursor to start again, with the same other arguments."


class InvalidRefError(InputError):
    """The text names no payload: neither a ref, nor a prefix of one, nor an alias."""

    code = "invalid_ref"
    way_out = "Give mem://sha256:<64 hex>, at least 8 of its hex digits, or an alias such as r12."


class InvalidPatternError(InputError):
    """A search pattern is malformed, too long, or uses what cannot be matched in linear time."""

    code = "invalid_pattern"
    way_out = "Mend the pattern, or search for literal text; there is no look-around and no \\1."


class PatternTooSlowError(InputError):
    """A search pattern took too long on this payload and was stopped."""

    code = "pattern_too_slow"
    way_out = "Search for literal text, or write the pattern without a repeat inside a repeat."


class InvalidExpressionError(InputError):
    """A JMESPath expression is malformed, too long or too deep."""

    code = "invalid_expression"
    way_out = "Write a shorter JMESPath expression over one row, such as level=='error'."


class NotRowsError(InputError):
    """The payload holds no rows: neither JSON lines, nor a JSON array, nor CSV."""

    code = "not_rows"
    way_out = "Use op grep, range or outline on this payload."


class PathOutsideRootsError(InputError):
    """The path, its links resolved, is not below a folder that may be read."""

    code = "path_outside_roots"
    way_out = "Name a file below OSIRIS_ROOTS, or ask the owner to add its folder there."


class NotAFileError(InputError):
    """The path is a folder, device, pipe, socket or kernel file, or a name no file may have."""

    code = "not_a_file"
    way_out = "Name a regular file."


class FileTooLargeError(InputError):
    """The file is larger than the limit. Nothing of it was kept."""

    code = "file_too_large"
    way_out = "Cut the file into parts, and give the part that matters."


class FileUnreadableError(InputError):
    """The file does not exist, may not be read, or has a name that is no text."""

    code = "file_unreadable"
    way_out = "Check the path and its permissions."


class InvalidInvariantsError(InputError):
    """The project's file of rules is malformed. The rules that could be read still hold."""

    code = "invalid_invariants"
    way_out = "Mend the named line and field of .osiris/invariants.toml, then run invariants check."


# --- the memory is not as the call assumed -------------------------------------------------------


class StateError(MemoryFault):
    """The memory is not as the call assumed; read again, then decide."""


class NotFoundError(StateError):
    """No such record, version or packet."""

    code = "not_found"
    way_out = "Pick one of the nearest names, or use memory_search."


class PinNotFoundError(StateError):
    """A pin names no record. No packet was written."""

    code = "pin_not_found"
    way_out = "Correct or remove the pin; memory_write the record first if it should exist."


class VersionConflictError(StateError):
    """expected_version is not the current version. Nothing was written."""

    code = "version_conflict"
    way_out = "Re-read the record, merge, and write with expected_version set to what you read."


class ClientFileError(StateError):
    """A client's own settings cannot be read or edited. That file was left as it is."""

    code = "client_file"
    way_out = "Correct the file and run it again; --dry-run shows what would go into it."


class NoProgressError(StateError):
    """A session was made smaller several times, and nothing was done between."""

    code = "no_progress"
    way_out = "Use mode undo or report, hand the task over, or start anew from the manifest."


class NotProvenError(StateError):
    """A lesson is to be promoted that has not proved itself."""

    code = "not_proven"
    way_out = "Report the lesson again when it holds again; then promote it."


class AlreadyClaimedError(StateError):
    """Another session holds the packet."""

    code = "already_claimed"
    way_out = "Take another packet, or ask again after lease_until."


class ClaimLostError(StateError):
    """The claim is not yours (any more). Nothing was changed."""

    code = "claim_lost"
    way_out = "Call handoff_pickup for a new claim and check what the packet's thread says now."


class PacketClosedError(StateError):
    """The packet is done, returned, withdrawn or expired."""

    code = "packet_closed"
    way_out = "Nothing to do for this packet; handoff_create writes a new one."


class FileChangedError(StateError):
    """The file changed while it was read. Nothing of it was kept."""

    code = "file_changed"
    retryable = True
    way_out = "Call again once nothing writes to the file."


# --- the database cannot serve -------------------------------------------------------------------


class StorageError(MemoryFault):
    """The database cannot serve; the call changed nothing."""


class BusyError(StorageError):
    """Another process held the database for longer than the deadline. The call was not executed."""

    code = "busy"
    retryable = True
    way_out = "Try again; if it lasts, look for a stopped process that holds the database file."


class DatabaseFullError(StorageError):
    """The disk is full."""

    code = "database_full"
    retryable = True
    way_out = "Free disk space, then send the same call again."


class DatabaseIoError(StorageError):
    """The operating system reported an I/O error."""

    code = "database_io"
    retryable = True
    way_out = "Check the disk; send a write again with the same request_id."


class ReadOnlyDatabaseError(StorageError):
    """The file or its folder cannot be written."""

    code = "database_read_only"
    way_out = "Make the file and its folder writable, or set MEMORY_DB elsewhere."


class DatabasePermissionError(StorageError):
    """This user may not open the file or create it."""

    code = "database_permission"
    way_out = "Run as the file's owner, correct its permissions, or set MEMORY_DB elsewhere."


class DatabaseMissingError(StorageError):
    """The file was deleted while the server ran."""

    code = "database_missing"
    way_out = "Put the file back where it was, or restart this server to start an empty memory."


class DatabaseReplacedError(StorageError):
    """Another file took the database's place while the server ran."""

    code = "database_replaced"
    way_out = "Restart this server to use the file that is there now, or put the old one back."


class NotADatabaseError(StorageError):
    """The path is a folder, a symlink, a device, or a file that is no SQLite database."""

    code = "not_a_database"
    way_out = "Set MEMORY_DB to a regular file of its own."


class ForeignDatabaseError(StorageError):
    """A SQLite database that another program made."""

    code = "foreign_database"
    way_out = "Set MEMORY_DB to a file of its own; this one was left untouched."


class NewerDatabaseError(StorageError):
    """A newer major version of this program made the file. It was left untouched."""

    code = "newer_database"
    way_out = "Upgrade handoff-memory-mcp for this client."


class CorruptDatabaseError(StorageError):
    """SQLite found the file damaged."""

    code = "database_corrupt"
    way_out = "Stop all servers, copy the file aside, run memory_stats --verify, restore a backup."


class CorruptRefError(StorageError):
    """The stored bytes of a ref do not have its hash. None of them was given out."""

    code = "ref_corrupt"
    way_out = "Run handoff-memory audit; produce the payload again where you can."


class NetworkFilesystemError(StorageError):
    """WAL mode loses writes on network file systems."""

    code = "network_filesystem"
    way_out = "Set MEMORY_DB to a path on a local disk."


class UnsuitableSqliteError(StorageError):
    """The SQLite library lacks what the schema needs."""

    code = "sqlite_unsuitable"
    way_out = "Install pysqlite3>=0.6.1, or a Python whose sqlite3 is 3.37 or newer with FTS5."


def error_types() -> list[type[MemoryFault]]:
    """Every concrete error, in the order of the tree."""
    found: list[type[MemoryFault]] = [MemoryFault]

    def visit(kind: type[MemoryFault]) -> None:
        for child in kind.__subclasses__():
            if "code" in vars(child):
                found.append(child)
            visit(child)

    visit(MemoryFault)
    return found

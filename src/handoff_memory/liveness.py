"""Whether a process of this machine is alive."""

from __future__ import annotations

import os
import platform
import sys
from typing import Final

HOST: Final = platform.node()
_STILL_ACTIVE: Final = 259
_QUERY_LIMITED: Final = 0x1000


def is_running(pid: int) -> bool:
    """Whether a process with that id exists on this machine."""
    if sys.platform == "win32":  # pragma: no cover - Windows only: os.kill would end the process
        return _is_running_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _is_running_on_windows(pid: int) -> bool:  # pragma: no cover - Windows only
    import ctypes  # noqa: PLC0415

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    process = kernel.OpenProcess(_QUERY_LIMITED, False, pid)
    if not process:
        return False
    code = ctypes.c_ulong()
    known = kernel.GetExitCodeProcess(process, ctypes.byref(code))
    kernel.CloseHandle(process)
    return bool(known) and code.value == _STILL_ACTIVE

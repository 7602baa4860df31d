"""The memory's server with a fault put in, so that the tests can be seen to fail."""

from __future__ import annotations

import sys
from typing import Any

from handoff_memory.__main__ import main
from handoff_memory.core import canonical, names
from handoff_memory.services import packet_views, reading

view = packet_views.view


def forgetful(*given: Any, **more: Any) -> dict[str, Any]:
    """A packet that says nothing of the pins that moved."""
    return {**view(*given, **more), "stale": []}


def ahead(tx: Any, limits: Any, row: Any, *given: Any, **more: Any) -> dict[str, Any]:
    """A packet with the current records in place of the pinned ones."""
    pins = [names.Name(pin["scope"], pin["key"]) for pin in canonical.decode(row["pins"])]
    current = [reading.get(tx, row["project"], name) for name in pins]
    records = [reading.with_value(tx, found, limits.room) for found in current]
    return {**view(tx, limits, row, *given, **more), "records": records}


FAULTS = {"forgets-what-moved": forgetful, "gives-the-current-version": ahead}

if __name__ == "__main__":
    packet_views.view = FAULTS[sys.argv[1]]
    sys.argv[1:] = ["serve"]
    sys.exit(main())

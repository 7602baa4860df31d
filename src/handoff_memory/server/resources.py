"""Resources: records as `memory://scope/key[@version]`, packets as `handoff://id`."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

import orjson
from mcp_types import Resource, ResourceTemplate

from handoff_memory.app import App
from handoff_memory.core.author import Author
from handoff_memory.core.errors import NotFoundError
from handoff_memory.core.names import Name, parse_name
from handoff_memory.services import handoff, reading, search
from handoff_memory.services.limits import Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx

MEDIA_TYPE: Final = "application/json"
_LISTED: Final = 50
_MEMORY: Final = "memory://"
_HANDOFF: Final = "handoff://"

TEMPLATES: Final = (
    ResourceTemplate(
        uri_template="memory://{+scope}/{key}",
        name="record",
        description="The current version of a record; @N after the key for another.",
        mime_type=MEDIA_TYPE,
    ),
    ResourceTemplate(
        uri_template="handoff://{packet_id}",
        name="packet",
        description="A handoff packet with its pinned records; reading it claims nothing.",
        mime_type=MEDIA_TYPE,
    ),
)


def uri_of(name: Name) -> str:
    """The resource of a record."""
    return _MEMORY + quote(str(name), safe="/@")


async def listed(app: App, who: Author) -> list[Resource]:
    """The records that were written last."""

    def newest(tx: Tx) -> list[Reply]:
        found = search.search(tx, who, app.settings.limits, search.Search(), limit=_LISTED)
        results: list[Reply] = found["results"]
        return results

    return [
        Resource(
            uri=uri_of(Name(item["scope"], item["key"])),
            name=f"{item['scope']}/{item['key']}",
            mime_type=MEDIA_TYPE,
        )
        for item in await app.read(newest)
    ]


async def read(app: App, who: Author, uri: str) -> str:
    """A resource as JSON text; a record comes whole, however large.

    Raises:
        NotFoundError: No such resource.
        InvalidNameError: The URI names no record.
    """
    limits = app.settings.limits
    whole = Limits(value_bytes=limits.value_bytes, reply_bytes=limits.value_bytes + (1 << 20))
    if uri.startswith(_MEMORY):
        name = parse_name(unquote(uri.removeprefix(_MEMORY)))
        found = await app.read(lambda tx: reading.read(tx, who, whole, name))
    elif uri.startswith(_HANDOFF):
        packet_id = unquote(uri.removeprefix(_HANDOFF)).strip("/")
        found = await app.read(lambda tx: handoff.peek(tx, who, limits, packet_id=packet_id))
    else:
        raise NotFoundError(f"no resource {uri}", way_out="Use memory://scope/key or handoff://id.")
    return orjson.dumps(found).decode()

"""Resources: records, packets, tasks and payloads by their URIs.

`memory://scope/key[@version]`, `handoff://id`, `osiris://task/{id}/manifest`, `osiris://task/{id}/status`
and `osiris://ref/{ref}`, which gives the raw bytes of a payload.
"""

from __future__ import annotations

import base64
import re
from typing import Final
from urllib.parse import quote, unquote

import orjson
from mcp_types import BlobResourceContents, Resource, ResourceTemplate, TextResourceContents

from handoff_memory.app import App
from handoff_memory.core import media
from handoff_memory.core.author import Author
from handoff_memory.core.errors import NotFoundError
from handoff_memory.core.names import Name, parse_name
from handoff_memory.rules import prefix
from handoff_memory.services import handoff, planning, reading, recalling, sealing, search, tasks
from handoff_memory.services.limits import Governing, Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx

MEDIA_TYPE: Final = "application/json"
_LISTED: Final = 50
_MEMORY: Final = "memory://"
_HANDOFF: Final = "handoff://"
_REF: Final = "osiris://ref/"
_TASK: Final = re.compile(r"osiris://task/([^/]+)/(manifest|status)")

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
    ResourceTemplate(
        uri_template="osiris://task/{task_id}/manifest",
        name="manifest",
        description="A task's sealed manifest, its zones and what it is for.",
        mime_type=MEDIA_TYPE,
    ),
    ResourceTemplate(
        uri_template="osiris://task/{task_id}/status",
        name="status",
        description="How full a task's context is, its budget and its ledger.",
        mime_type=MEDIA_TYPE,
    ),
    ResourceTemplate(
        uri_template="osiris://ref/{ref}",
        name="payload",
        description="The raw bytes of a payload, checked against its hash.",
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


async def read(
    app: App, who: Author, uri: str, governing: Governing
) -> TextResourceContents | BlobResourceContents:
    """A resource whole, however large.

    Raises:
        NotFoundError: No such resource.
        InvalidNameError: The URI names no record.
        CorruptRefError: The payload was altered.
    """
    limits = app.settings.limits
    whole = Limits(value_bytes=limits.value_bytes, reply_bytes=limits.value_bytes + (1 << 20))
    place = unquote(uri)
    if place.startswith(_MEMORY):
        name = parse_name(place.removeprefix(_MEMORY))
        found = await app.read(lambda tx: reading.read(tx, who, whole, name))
    elif place.startswith(_HANDOFF):
        packet_id = place.removeprefix(_HANDOFF).strip("/")
        found = await app.read(lambda tx: handoff.peek(tx, who, limits, packet_id=packet_id))
    elif place.startswith(_REF):
        return await _payload(app, uri, place.removeprefix(_REF))
    elif wanted := _TASK.fullmatch(place):
        found = await app.read(lambda tx: _task(tx, who, wanted[1], wanted[2], governing))
    else:
        raise NotFoundError(
            f"no resource {uri}",
            way_out="Use memory://scope/key, handoff://id, osiris://task/id/manifest or osiris://ref/r1.",
        )
    return TextResourceContents(uri=uri, mime_type=MEDIA_TYPE, text=orjson.dumps(found).decode())


async def _payload(app: App, uri: str, ref: str) -> TextResourceContents | BlobResourceContents:
    row, data = await app.read(lambda tx: recalling.payload(tx, ref))
    kind = row["media_type"]
    if not media.is_binary(data):
        try:
            return TextResourceContents(uri=uri, mime_type=kind, text=data.decode())
        except UnicodeDecodeError:
            pass  # text of another encoding: its bytes as they are
    return BlobResourceContents(uri=uri, mime_type=kind, blob=base64.b64encode(data).decode())


def _task(tx: Tx, who: Author, task_id: str, what: str, governing: Governing) -> Reply:
    task = tasks.get(tx, who, task_id)
    if what == "status":
        return planning.status(task, governing)
    hashes = prefix.hashes(sealing.zones(task, governing)).plain()
    return {
        "task": task.id,
        "objective": task.stable.objective,
        "manifest": sealing.shown(task, governing),
        "seal": sealing.seal(task, governing),
        "zones": hashes,
        "constraints": list(task.stable.constraints),
        "decisions": list(task.stable.decisions),
    }

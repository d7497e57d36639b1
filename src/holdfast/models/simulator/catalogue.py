"""The models and the uploaded files, as the clients of both vendors read them.

Clients upload a file first and name it by its id in a prompt later; the simulator keeps the newest ones in memory.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from holdfast.core import IdSource
from holdfast.core.errors import NotFound, TooLarge
from holdfast.models.messages import TEXT_PARTS, Part, PromptMessage
from holdfast.models.simulator.answer import MODEL

MOST_BYTES = 25 * 2**20
MOST_FILES = 100


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was uploaded; `created` is in seconds."""

    id: str
    name: str
    media_type: str
    purpose: str
    created: int
    data: bytes


class Uploads:
    """The newest uploads, by id."""

    def __init__(self, ids: IdSource) -> None:
        self._ids = ids
        self._files: dict[str, Upload] = {}

    def add(self, name: str, media_type: str, purpose: str, created: int, data: bytes) -> Upload:
        """Keep a file, and forget the oldest if there are too many."""
        if len(data) > MOST_BYTES:
            raise TooLarge(f"{name!r:.80} has more than {MOST_BYTES} bytes")
        upload = Upload(f"file-{self._ids()}", name, media_type, purpose, created, data)
        self._files[upload.id] = upload
        if len(self._files) > MOST_FILES:
            del self._files[next(iter(self._files))]
        return upload

    def get(self, file_id: str) -> Upload:
        """An upload; NotFound if there is none with this id."""
        if file_id not in self._files:
            raise NotFound(
                f"there is no file {file_id!r:.80}", hint="upload it again: the simulator keeps files in memory"
            )
        return self._files[file_id]

    def into(self, messages: Sequence[PromptMessage]) -> list[PromptMessage]:
        """Messages with the files that they name by id in them."""
        return [
            message
            if isinstance(message.content, str)
            else replace(message, content=[self._part(part) for part in message.content])
            for message in messages
        ]

    def _part(self, part: Part) -> Part:
        if part["type"] in TEXT_PARTS:
            return part
        places = [part, *(part[field] for field in ("file", "source") if isinstance(part.get(field), dict))]
        file_id = next((place["file_id"] for place in places if isinstance(place.get("file_id"), str)), None)
        if file_id is None:
            return part
        upload = self.get(file_id)
        data = base64.b64encode(upload.data).decode()
        source = {"type": "base64", "media_type": upload.media_type, "filename": upload.name, "data": data}
        return {"type": part["type"], "source": source}


def model(name: str) -> dict[str, Any]:
    """A model, with the fields of either vendor."""
    openai = {"id": name, "object": "model", "created": 0, "owned_by": "holdfast"}
    anthropic = {"type": "model", "display_name": name, "created_at": _time(0), "lifecycle": "active"}
    return openai | anthropic


def models() -> dict[str, Any]:
    """The list of the one model."""
    page = {"has_more": False, "first_id": MODEL, "last_id": MODEL}
    return {"object": "list", "data": [model(MODEL)]} | page


def file(upload: Upload, *, anthropic: bool) -> dict[str, Any]:
    """An upload as its vendor describes one."""
    known = {"id": upload.id, "filename": upload.name}
    if anthropic:
        described = {"type": "file", "mime_type": upload.media_type, "size_bytes": len(upload.data)}
        return known | described | {"created_at": _time(upload.created), "downloadable": False}
    described = {"object": "file", "bytes": len(upload.data), "purpose": upload.purpose}
    return known | described | {"created_at": upload.created, "status": "processed"}


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")

"""Models and files as the clients of both vendors read them."""

from datetime import UTC, datetime
from typing import Any

from holdfast.models.simulator.backend import MODEL
from holdfast.models.simulator.uploads import Upload


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

"""Rows of another program's database as events: the row's members are the payload, its key is the event's id."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.core import NewEvent, strict_json
from holdfast.core.errors import InvalidInput
from holdfast.transcripts.files.json_lines import LONGEST_NAME, line_id
from holdfast.transcripts.files.line_file import WHOLE
from holdfast.transcripts.source import TranscriptLine, UnreadableLine


def row_event(
    file: Path, number: int, kind: str, key: str, row: Mapping[str, Any], time: int | None
) -> TranscriptLine | UnreadableLine:
    """The event of a row, without the members that are null; bytes are in base64."""
    try:
        payload = strict_json.dump({name: plain(value) for name, value in row.items() if value is not None})
    except InvalidInput as error:
        return UnreadableLine(file, number, error.message)
    if len(payload) > WHOLE:
        return UnreadableLine(file, number, f"a row of {len(payload):,} bytes is more than {WHOLE:,}")
    return TranscriptLine(file, number, NewEvent(kind, payload, line_id(key[:LONGEST_NAME]), created_at=time))


def plain(value: Any) -> Any:
    """A value of SQLite as JSON has it."""
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value

"""Whether a session's lines are kept as they came, or with their secrets masked: one rule for import, guard and hooks.

It is decided when a session begins and kept with it, in its metadata, so that one session is never half of each. A line
without a secret stays as it came, byte for byte. What is masked, nobody can bring back.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.core import NewEvent, strict_json
from holdfast.core.redact import redact_fields, redact_value
from holdfast.transcripts.files.json_lines import TEXT, text_of

MEMBER = "secrets"
"""The member of a session's metadata that says so."""
MASKED = "masked"


def is_masked(metadata: Mapping[str, Any]) -> bool:
    """Whether a session was begun with its secrets masked."""
    return metadata.get(MEMBER) == MASKED


def masked_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a session whose secrets are masked."""
    return {**redact_fields(metadata), MEMBER: MASKED}


def masked_event(event: NewEvent) -> NewEvent:
    """The event with its secrets masked; the same one if it has none."""
    value = strict_json.parse(event.payload)
    if event.type == TEXT and "base64" in value:
        value = {"text": text_of(value).decode(errors="replace")}
    masked = redact_value(value)
    return event if masked == value else replace(event, payload=strict_json.CheckedJson(strict_json.dump(masked)))

"""What is attached to a message: its name, media type and size, and its words where it is text.

It reads the parts of all the APIs that the simulator speaks, and what runtimes write into the words instead:
`[attached file: notes.txt (text/plain, 40 bytes)]`, with the file's text up to `[end of notes.txt]` where that
follows. A file that is only mentioned has a name and nothing else: its content did not reach the model.
"""

import base64
import binascii
import mimetypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote_to_bytes

from holdfast.models.messages import TEXT_PARTS, Part, PromptMessage

FIRST_WORDS = 12

DATA_URI = re.compile(r"data:(?P<type>[^;,]*)(?:;[^;,]+)*?(?P<base64>;base64)?,(?P<data>.*)", re.DOTALL | re.IGNORECASE)
MENTION = re.compile(
    r"\[(?:attached file|image attached at|file attached): (?P<name>[^\]\n]{1,300}?)"
    r"(?: \((?P<type>[\w.+-]+/[\w.+-]+)?(?P<more>[^)\n]{0,300})\))?\]",
    re.IGNORECASE,
)
SIZE = re.compile(r"\b(\d{1,18}) bytes?\b")

KINDS = {
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
    "input_file": "file",
    "document": "file",
}


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that came with a message; `text` is its content if that is text and reached the model."""

    kind: str
    name: str | None = None
    media_type: str | None = None
    size: int | None = None
    text: str | None = None

    @property
    def label(self) -> str:
        """Its name, or what kind of thing it is."""
        return self.name or self.kind

    @property
    def described(self) -> str:
        """Its label, with what is known of it, and how it begins if it is text."""
        size = None if self.size is None else f"{self.size} byte{'' if self.size == 1 else 's'}"
        known = ", ".join(word for word in (self.media_type, size) if word)
        begins = f', which begins "{self.beginning}"' if self.text and self.text.strip() else ""
        return self.label + (f" ({known})" if known else "") + begins

    @property
    def beginning(self) -> str:
        """The first words of a text."""
        words = (self.text or "").split()
        return " ".join(words[:FIRST_WORDS]) + (" …" if len(words) > FIRST_WORDS else "")


@dataclass(frozen=True, slots=True)
class Mention:
    """A file in the words of a message, and where it stands there."""

    attachment: AttachedFile
    start: int
    end: int


def files_of(message: PromptMessage) -> tuple[AttachedFile, ...]:
    """What is attached to a message: the files in its words, each with the part that it names, and other parts."""
    found = [mention.attachment for mention in mentions(message.text)]
    if isinstance(message.content, str):
        return tuple(found)
    for part in message.content:
        if part["type"] not in TEXT_PARTS:
            _put(read(part), found)
    return tuple(found)


def without_mentions(text: str) -> str:
    """A text without the files that are in it."""
    for mention in reversed(mentions(text)):
        text = text[: mention.start] + text[mention.end :]
    return text


def mentions(text: str) -> list[Mention]:
    """The files in a text, in order."""
    found: list[Mention] = []
    for match in MENTION.finditer(text):
        if found and match.start() < found[-1].end:
            continue
        last = f"\n[end of {match['name']}]"
        end = text.find(last, match.end()) if text.startswith("\n", match.end()) else -1
        words = text[match.end() + 1 : end] if end >= 0 else None
        size = SIZE.search(match["more"] or "")
        media_type = match["type"] or mimetypes.guess_type(match["name"])[0]
        kind = "image" if (media_type or "").startswith("image/") else "file"
        file = AttachedFile(kind, match["name"], media_type, int(size[1]) if size else None, words)
        found.append(Mention(file, match.start(), match.end() if end < 0 else end + len(last)))
    return found


def _put(attachment: AttachedFile, found: list[AttachedFile]) -> None:
    """Add an attachment, in the place of the mention that names it if there is one."""
    for place, mention in enumerate(found):
        if not attachment.name and mention.kind == attachment.kind:
            found[place] = replace(attachment, name=mention.name)
            return
    found.append(attachment)


def names(attachments: Sequence[AttachedFile]) -> str:
    """All of them described."""
    return ", ".join(attachment.described for attachment in attachments)


def read(part: Part) -> AttachedFile:
    """The attachment in a part of a message."""
    kind = KINDS.get(part["type"]) or str(part["type"])
    source = _source(part)
    name = _text(source, "filename", "file_name", "name", "title") or _text(part, "filename", "title", "name")
    media_type = _text(source, "media_type", "mime_type")
    uri = _text(source, "file_data", "url", "image_url", "file_url")
    if uri:
        data_uri = DATA_URI.fullmatch(uri)
        if data_uri:
            raw = _decoded(data_uri["data"]) if data_uri["base64"] else unquote_to_bytes(data_uri["data"])
            return _named(kind, name, data_uri["type"] or media_type, raw)
        if "file_data" not in source:
            return _named(kind, name or uri.rsplit("/", 1)[-1] or uri, media_type, None)
        return _named(kind, name, media_type, _decoded(uri))
    data = _text(source, "data", "base64")
    if data is None:
        return _named(kind, name, media_type, None)
    return _named(kind, name, media_type, data.encode() if source.get("type") == "text" else _decoded(data))


def _source(part: Part) -> dict[str, Any]:
    """Where a part keeps what it carries: in a field of its own, or in itself."""
    for field in ("file", "source", "input_audio", "image_url"):
        if isinstance(part.get(field), dict):
            inner: dict[str, Any] = part[field]
            return inner
    return part


def _text(fields: dict[str, Any], *keys: str) -> str | None:
    return next((fields[key] for key in keys if isinstance(fields.get(key), str)), None)


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return None


def _named(kind: str, name: str | None, media_type: str | None, raw: bytes | None) -> AttachedFile:
    media_type = media_type or (mimetypes.guess_type(name)[0] if name else None)
    size = None if raw is None else len(raw)
    return AttachedFile(kind, name, media_type, size, _words(media_type, raw))


def _words(media_type: str | None, raw: bytes | None) -> str | None:
    if raw is None or (media_type or "").split("/")[0] in {"image", "audio", "video"} or b"\0" in raw:
        return None
    if media_type == "application/pdf":
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None

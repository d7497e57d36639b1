"""What comes with a message beside its words, as a model is told of it.

A text is told in full up to a bound, an image is shown, and anything else is named with its type and size. The files
of earlier messages are told again as far as a budget for all of them goes, the newest first; beyond it, and images,
are only named.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.a2a import DataPart, FilePart, Part, TextPart
from holdfast.a2a.handler import Attachment
from holdfast.core import strict_json
from holdfast.core.errors import NotFound
from holdfast.models import Content, image_part, text_part
from holdfast.models import Part as ModelPart

MAX_TEXT = 60_000
MAX_IMAGE = 5 * 1024 * 1024
TEXTS_NOW = 240_000
PAST_TEXTS = 60_000

TEXTS = frozenset(
    f"application/{kind}" for kind in ("json", "xml", "yaml", "x-yaml", "toml", "javascript", "sql", "x-sh", "csv")
)
IMAGES = frozenset(f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp"))


@dataclass(slots=True)
class Budget:
    """How many characters of files, and whether images, may still be told."""

    characters: int
    images: bool

    def take(self, wanted: int) -> bool:
        """Whether so many may be; they are then gone."""
        if wanted > self.characters:
            return False
        self.characters -= wanted
        return True


def for_this_message() -> Budget:
    """What may be told of the message that is to be answered."""
    return Budget(TEXTS_NOW, images=True)


def for_past_messages() -> Budget:
    """What may be told of all that came before."""
    return Budget(PAST_TEXTS, images=False)


async def content(parts: Sequence[Part], attachments: Sequence[Attachment], budget: Budget) -> Content:
    """A message for a model: its words, then its other parts in order; plain text if there are only words."""
    kept = {attachment.digest: attachment for attachment in attachments}
    lines = [part.text for part in parts if isinstance(part, TextPart) and part.text]
    images: list[ModelPart] = []
    for part in parts:
        match part:
            case DataPart():
                lines.append(strict_json.dump(part.data).decode())
            case FilePart():
                attachment = kept.get(part.digest or "")
                if attachment is None:
                    lines.append(_mention(part.filename or part.url or "unnamed", part.media_type, part.size))
                    continue
                line, image = await _told(attachment, budget)
                lines.append(line)
                images += [image] if image else []
    words = "\n".join(lines)
    return [*([text_part(words)] if words else []), *images] if images else words


async def _told(attachment: Attachment, budget: Budget) -> tuple[str, ModelPart | None]:
    """A kept file in words, and as an image if it is one that may be shown."""
    mention = _mention(attachment.name, attachment.media_type, attachment.size)
    kind = attachment.media_type.partition(";")[0].strip().lower()
    try:
        if kind in IMAGES and budget.images and attachment.size <= MAX_IMAGE:
            return mention, image_part(kind, await attachment.read())
        if (kind.startswith("text/") or kind in TEXTS) and budget.take(min(attachment.size, MAX_TEXT)):
            return f"{mention}\n{_words(attachment.name, await attachment.read())}", None
    except NotFound:
        return f"{mention}\n[its content is no longer there]", None
    return mention, None


def _words(name: str, raw: bytes) -> str:
    text = raw.decode(errors="replace")
    left = len(text) - MAX_TEXT
    return text[:MAX_TEXT] + (f"\n[{left} more characters]" if left > 0 else "") + f"\n[end of {name}]"


def _mention(name: str, media_type: str | None, size: int | None) -> str:
    known = ", ".join(filter(None, [media_type, None if size is None else f"{size} bytes"]))
    return f"[attached file: {name} ({known})]" if known else f"[attached file: {name}]"

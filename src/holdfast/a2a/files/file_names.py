"""Names of files that come from outside: what they are shown as, what they are called on disk, what is in them."""

import mimetypes
import re
import unicodedata

ANY_BYTES = "application/octet-stream"
UNNAMED = "file"
MAX_BYTES = 200
"""Of a name: file systems take 255, and something is put in front where two have the same."""

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Kinds of characters that are not seen: control characters, marks that turn the direction of writing, and the like."""
ODD = re.compile(r"[^\w.+@=,()-]+")


def display_name(name: str | None, media_type: str | None = None) -> str:
    """The name as people are shown it: never a path, nothing in it that is not seen; one is made if there is none."""
    last = re.split(r"[/\\]", name or "")[-1]
    seen = "".join(char for char in unicodedata.normalize("NFC", last) if unicodedata.category(char) not in HIDDEN)
    kept = _short(seen.strip())
    if kept.strip(". "):
        return kept
    return UNNAMED + (mimetypes.guess_extension(media_type or "") or "")


def disk_name(name: str | None) -> str:
    """The name as a file has it: also without blanks and signs that mean something in a URI, and never hidden."""
    return ODD.sub("_", display_name(name)).lstrip(".") or UNNAMED


def media_type_of(name: str) -> str:
    """What a file of this name has in it, as far as its ending tells."""
    kind, packed = mimetypes.guess_type(name)
    if packed is not None:
        return "application/gzip" if packed == "gzip" else ANY_BYTES
    return kind or ANY_BYTES


def _short(name: str) -> str:
    """A name that fits, with its ending."""
    if len(name.encode()) <= MAX_BYTES:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > 20:
        stem, dot, ending = name, "", ""
    room = MAX_BYTES - len((dot + ending).encode())
    return stem.encode()[:room].decode(errors="ignore") + dot + ending

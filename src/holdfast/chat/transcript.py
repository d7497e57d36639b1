"""A conversation as a file to keep: Markdown for people, JSON for programs. No file is overwritten."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from holdfast.chat.conversation import TranscriptEntry
from holdfast.core.errors import Conflict


def as_markdown(name: str, sayings: Sequence[TranscriptEntry]) -> str:
    """What was said, each message under its speaker."""
    parts = [f"## {saying.speaker}\n\n{saying.text.rstrip()}\n" for saying in sayings]
    return "\n".join([f"# {name}\n", *parts])


def as_json(name: str, sayings: Sequence[TranscriptEntry]) -> str:
    """The same as one JSON object."""
    return json.dumps({"conversation": name, "messages": [asdict(each) for each in sayings]}, ensure_ascii=False) + "\n"


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet; Conflict if it is."""
    try:
        with path.open("x", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
    except FileExistsError:
        raise Conflict(f"{path} is there already", hint="name another file: /export FILE") from None

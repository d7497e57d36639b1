"""The simplest source of transcripts: one `<session>.lines` for each session, `id parent text` on each line."""

import json
from collections.abc import Iterator
from pathlib import Path

from holdfast.core import NewEvent
from holdfast.core.errors import InvalidInput
from holdfast.transcripts import Transcript, TranscriptLine, UnreadableLine


class PlainTranscripts:
    """Reads a folder of such files; `unreadable` names one that cannot be read."""

    name = "plain"
    looks_like = "<session>.lines"

    def __init__(self, unreadable: str | None = None, parents: dict[str, str] | None = None) -> None:
        self._unreadable = unreadable
        self._parents = parents or {}

    def recognises(self, folder: Path) -> bool:
        return any(folder.glob("*.lines"))

    def transcripts(self, folder: Path) -> Iterator[Transcript]:
        for path in sorted(folder.glob("*.lines")):
            yield Transcript(
                path.stem,
                (path,),
                key=f"agent:main:{path.stem}",
                agent="main",
                parent_session=self._parents.get(path.stem),
                created_at=1_000,
                metadata={"title": path.stem},
                tags=("plain",),
            )

    def lines(self, transcript: Transcript) -> Iterator[TranscriptLine | UnreadableLine]:
        (path,) = transcript.files
        if transcript.session_id == self._unreadable:
            raise InvalidInput(f"{path.name} cannot be read")
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
            if not line.endswith(b"\n"):
                yield UnreadableLine(path, number, "torn: the file ends in the middle of this line")
                return
            event_id, parent, text = line.decode().rstrip("\n").split(" ", 2)
            payload = json.dumps({"text": text}).encode()
            event = NewEvent("note", payload, event_id, parent_id=None if parent == "-" else parent)
            yield TranscriptLine(path, number, event)


def write(folder: Path, session_id: str, *lines: str, torn: str = "") -> Path:
    """Write a session; `torn` is what stands behind its last line."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session_id}.lines"
    path.write_text("".join(f"{line}\n" for line in lines) + torn)
    return path

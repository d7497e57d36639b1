"""Which lines of a transcript become events, and what there is to say of the others.

Every line that can be an event is one, also where the transcript contradicts itself: a line whose parent is no earlier
line is kept without it, and one whose id was used before under an id of its own. Both are told. So is a line that is
not JSON, of which the text is kept where there is some.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.core import NewEvent
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.store.portable import check_event
from holdfast.transcripts.files.json_lines import is_piece
from holdfast.transcripts.masking import masked_event
from holdfast.transcripts.source import Transcript, TranscriptLine, TranscriptSource, UnreadableLine

MOST_NOTES = 1_000
"""How many notes are kept of one import; the others are only counted."""

VERSION = "^"
LINE_UNREADABLE = "line_unreadable"
LINE_REFUSED = "line_refused"
LINE_REPEATED = "line_repeated"
CHAIN_BROKEN = "chain_broken"


@dataclass(frozen=True, slots=True)
class LineNote:
    """What is to be said of one line."""

    code: str
    session_id: str
    file: Path
    line: int
    message: str


@dataclass(slots=True)
class LineNotes:
    """The first notes, and how many there are of each code."""

    first: list[LineNote] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    masked: int = 0
    """How many lines had a secret in them that was masked."""

    def add(self, note: LineNote) -> None:
        """Keep a note, or only count it."""
        self.counts[note.code] += 1
        if len(self.first) < MOST_NOTES:
            self.first.append(note)

    def add_all(self, others: "LineNotes") -> None:
        """Add the notes of one session."""
        self.counts += others.counts
        self.masked += others.masked
        self.first += others.first[: max(0, MOST_NOTES - len(self.first))]


class KeptLines:
    """The lines of one session on their way in: what was seen of it, and what there is to say.

    With `masks` the secrets in a line are masked. A piece of a line cannot be: half a secret would stay.
    """

    def __init__(self, session_id: str, notes: LineNotes, time: int = 0, *, masks: bool = False) -> None:
        self.notes = notes
        self.masked: set[str] = set()
        """The ids of the lines that had a secret in them."""
        self._session_id = session_id
        self._masks = masks
        self._time = time
        self._seen: dict[str, int] = {}
        self._refused_line = 0

    def event(self, line: TranscriptLine | UnreadableLine) -> NewEvent | None:
        """The event that a line becomes, checked, with its id and time; None if it becomes none, which is told."""
        if isinstance(line, UnreadableLine):
            self._note(LINE_UNREADABLE, line, line.reason)
        event = line.event
        if event is None:
            return None
        if event.event_id is None:
            raise InvalidInput(f"{line.file}, line {line.line}: a line of a transcript must have an id")
        try:
            placed = self._placed(line, event, event.event_id)
            event = check_event(self._masked(placed) if self._masks else placed)
        except HoldfastError as error:
            if line.line != self._refused_line:  # else another piece of the same line
                self._note(LINE_REFUSED, line, error.message)
            self._refused_line = line.line
            return None
        self._time = event.created_at or self._time
        return event

    def begin_again(self) -> None:
        """Forget which lines were seen: the file was written anew."""
        self._seen = {}
        self._refused_line = 0

    def _placed(self, line: TranscriptLine | UnreadableLine, event: NewEvent, event_id: str) -> NewEvent:
        """The event with an id that no line before has, an earlier line for its parent, and a time."""
        if event.parent_id is not None and event.parent_id not in self._seen:
            self._note(CHAIN_BROKEN, line, f"its parent {event.parent_id!r:.80} is no earlier line")
            event = replace(event, parent_id=None)
        count = self._seen[event_id] = self._seen.get(event_id, 0) + 1
        if count > 1:
            self._note(LINE_REPEATED, line, f"its id {event_id!r:.80} was there before")
            event = replace(event, event_id=f"{event_id}~{count}")
        return event if event.created_at is not None else replace(event, created_at=self._time)

    def _masked(self, event: NewEvent) -> NewEvent:
        if is_piece(event):
            raise InvalidInput("it is too long for one event, so its secrets cannot be masked")
        masked = masked_event(event)
        if masked is not event:
            self.notes.masked += 1
            self.masked.add(str(event.event_id))
        return masked

    def _note(self, code: str, at: TranscriptLine | UnreadableLine, message: str) -> None:
        self.notes.add(LineNote(code, self._session_id, at.file, at.line, message))


def kept_lines(
    source: TranscriptSource, transcript: Transcript, notes: LineNotes, *, masks: bool = False
) -> Iterator[NewEvent]:
    """The events of a transcript; a line that can be no event is told."""
    kept = KeptLines(transcript.session_id, notes, transcript.created_at or 0, masks=masks)
    return filter(None, map(kept.event, source.lines(transcript)))


def version_id(event_id: str, number: int) -> str:
    """The id of a line whose own id is that of another line, from before its file was written anew."""
    return f"{event_id}{VERSION}{number}"

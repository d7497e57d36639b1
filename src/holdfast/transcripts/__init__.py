"""Sessions that other programs and older layouts have written, read so that they can be kept here.

A `TranscriptSource` recognises a folder and gives its `Transcript`s; each gives its lines, verbatim. Importing and
guarding know sources by this shape only. Reading never changes what is read.
"""

from holdfast.transcripts.exporting import TranscriptExport, export_transcripts
from holdfast.transcripts.importing import TranscriptImport, import_transcripts
from holdfast.transcripts.kept_lines import LineNote, LineNotes, kept_lines
from holdfast.transcripts.source import RefusedTranscript, Transcript, TranscriptLine, TranscriptSource, UnreadableLine
from holdfast.transcripts.sources import recognise, source_of
from holdfast.transcripts.words import words_of

__all__ = [
    "LineNote",
    "LineNotes",
    "RefusedTranscript",
    "Transcript",
    "TranscriptExport",
    "TranscriptImport",
    "TranscriptLine",
    "TranscriptSource",
    "UnreadableLine",
    "export_transcripts",
    "import_transcripts",
    "kept_lines",
    "recognise",
    "source_of",
    "words_of",
]

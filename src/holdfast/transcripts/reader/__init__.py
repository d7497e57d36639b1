"""Transcripts read by a process of their own: the importing one writes to the store meanwhile."""

from holdfast.transcripts.reader.reader_process import ReaderFailed, ReaderProcess

__all__ = ["ReaderFailed", "ReaderProcess"]

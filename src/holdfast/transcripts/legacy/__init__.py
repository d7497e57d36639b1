"""Our own older layout: `agents/<agent>/sessions/sessions.json`, and beside it `<session>.jsonl` for each session.

`sessions.json` says which key routes to which session; a session that it names is hot. A session's file has a header
line, then entries with an id and a parentId. These files are read, and moved to the record of an import, never changed.
"""

from holdfast.transcripts.legacy.inspection import Inspection, LegacySession, LegacyTarget, inspect
from holdfast.transcripts.legacy.layout import STORE_UNREADABLE, LegacyIssue
from holdfast.transcripts.legacy.legacy_source import LegacySource

__all__ = ["STORE_UNREADABLE", "Inspection", "LegacyIssue", "LegacySession", "LegacySource", "LegacyTarget", "inspect"]

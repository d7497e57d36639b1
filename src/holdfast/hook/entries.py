"""What becomes of a record: an action of its session, and what follows from it.

A hook of Claude Code is an action of the event's own name, with the payload for its details. A sub-agent's start and
end are sub-agents of the session too. Any other payload is an action as the service's routes take it. Keys come from
the record, so the same record makes the same entries, whoever makes them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from holdfast.client import entry
from holdfast.client.dictionaries import action_in
from holdfast.client.entry import SpoolEntry
from holdfast.core import strict_json
from holdfast.core.clock import from_iso
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import session_id_for
from holdfast.core.redact import redact_fields
from holdfast.core.statuses import COMPLETED
from holdfast.hook.tags import CLAUDE_CODE, OTHER, folder_tag

EVENT = "hook_event_name"
ENDS = "SessionEnd"
IMPORTS = frozenset({"PreCompact", ENDS})
"""Events at which the transcript is read; a session that goes on brings what the last one's end has left out."""
SECRETS = {"secrets": "masked"}


class HookRecord(Struct):
    """A record of the inbox."""

    key: str
    at: int
    session: str
    said: dict[str, Any]
    around: str | None = None
    """The session of the program that this one runs in."""
    masks: bool = True
    config: str | None = None

    @property
    def session_id(self) -> str:
        """The session's id here: any text that a program calls its session has one."""
        return session_id_for(self.session)

    @property
    def event(self) -> str | None:
        """The event of Claude Code that this is; None if it is none."""
        said = self.said.get(EVENT)
        return said if isinstance(said, str) and said else None


class TranscriptPlace(NamedTuple):
    """A transcript that is to be read: its session, its file, the program's folder, and whether its end has come."""

    session_id: str
    file: Path
    folder: Path
    masks: bool
    ended: bool


def described(record: HookRecord) -> SpoolEntry:
    """The description of a session that begins with a record."""
    metadata: dict[str, Any] = dict(SECRETS) if record.masks else {}
    cwd = record.said.get("cwd")
    if isinstance(cwd, str) and cwd:
        metadata["cwd"] = cwd
    if record.session != record.session_id:
        metadata["named"] = record.session[:1000]
    metadata = redact_fields(metadata) | dict(SECRETS) if record.masks else metadata
    parent = session_id_for(record.around) if record.around else None
    return entry.described(
        record.session_id,
        f"{record.key}-begin",
        user_id=None,
        agent=None,
        initial=None,
        tags=tags_of(record),
        metadata=metadata,
        parent_session=None if parent == record.session_id else parent,
    )


def tags_of(record: HookRecord) -> list[str]:
    """The tags of a record's session: what reported it, and in which folder."""
    cwd = record.said.get("cwd")
    about = [folder_tag(cwd)] if record.event and isinstance(cwd, str) and cwd else []
    return [CLAUDE_CODE if record.event else OTHER, *about]


def entries_of(record: HookRecord, *, masks: bool) -> list[SpoolEntry]:
    """The entries that a record makes; a HoldfastError if the service could never take it."""
    said = redact_fields(record.said) if masks else record.said
    if record.event is None:
        return [_action(record, said)]
    details = {name: value for name, value in said.items() if name not in {EVENT, "session_id"}}
    kind = record.event if not record.event.startswith("holdfast.") else f"hook.{record.event}"
    found = [entry.appended(record.session_id, record.key, kind, details, timestamp=record.at)]
    patch = _sub_agent(record.event, said)
    return found if patch is None else [*found, entry.state_patch(record.session_id, f"{record.key}-agent", patch)]


def transcript_of(record: HookRecord, *, masks: bool) -> TranscriptPlace | None:
    """The transcript to be read at this record: only the session's own file in Claude Code's own folder."""
    resumed = record.event == "SessionStart" and record.said.get("source") == "resume"
    path, folder = record.said.get("transcript_path"), record.config
    if not (record.event in IMPORTS or resumed) or not isinstance(path, str) or not folder:
        return None
    file, home = Path(path), Path(folder)
    if ".." in file.parts or "\0" in path or file.name != f"{record.said.get('session_id')}.jsonl":
        return None
    if file.parent.parent != home / "projects" or record.session != record.said.get("session_id"):
        return None
    return TranscriptPlace(record.session_id, file, home, masks, record.event == ENDS)


def as_sent(record: HookRecord) -> HookRecord:
    """The record, with what JSON cannot carry for us (a lone surrogate, too many levels) as text."""
    try:
        strict_json.parse(strict_json.dump(record.said))
    except (HoldfastError, UnicodeEncodeError, RecursionError) as error:
        text = str(record.said)[:65536].encode(errors="backslashreplace").decode()
        named = {EVENT: record.event, "session_id": record.session_id} if record.event else {"type": "unusual"}
        about = {"text": text, "reason": str(error)[:200]}
        record.said = {**named, **about} if record.event else {**named, "details": about}
    return record


def _action(record: HookRecord, said: Mapping[str, Any]) -> SpoolEntry:
    own = {name: value for name, value in said.items() if name not in {"session_id", "sessionId"}}
    given = action_in(own)
    named = given.named
    when = named.pop("timestamp", record.at)
    return entry.appended(
        record.session_id,
        record.key,
        given.type,
        given.details,
        timestamp=from_iso(when) if isinstance(when, str) else int(when),
        **named,
    )


def _sub_agent(event: str, said: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an event says of a sub-agent, as a patch of the state: one that is not known yet is made by it."""
    name, kind = said.get("agent_id"), said.get("agent_type")
    if event not in {"SubagentStart", "SubagentStop"} or not name or not kind:
        return None
    agent: dict[str, Any] = {"agentId": name, "type": kind}
    if event == "SubagentStop":
        agent |= {"status": COMPLETED, "result": said.get("last_assistant_message")}
    return {"agents": [agent]}

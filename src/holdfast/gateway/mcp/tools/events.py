"""Tools for the log of a session: append an action or a response, read it, find words in it."""

from typing import Annotated, Any

from msgspec import UNSET, Meta

from holdfast.gateway.mcp.arguments import (
    DEFAULT_ENTRIES,
    ChangeOfSession,
    Create,
    Cursor,
    Handle,
    Limit,
    OfSession,
)
from holdfast.gateway.mcp.service import RouteRequest, only_given
from holdfast.gateway.mcp.tool import ADDS, READS, McpTool
from holdfast.gateway.mcp.tools.sessions import of
from holdfast.gateway.wire.events import EventView, EventWindow
from holdfast.gateway.wire.queries import HitList
from holdfast.gateway.wire.sessions import ActionReceipt
from holdfast.gateway.wire.types import Body, Name, OwnName, Seq, Timestamp

Types = Annotated[Annotated[list[Name], Meta(max_length=50)] | None, Meta(description="only events of these types")]


class NewEntry(ChangeOfSession, kw_only=True):
    """What actions and responses have in common."""

    details: Annotated[Any, Meta(description="what happened, any JSON value")] = UNSET
    timestamp: Timestamp = None
    event_id: Annotated[Name | None, Meta(description="the event's id; one is made if there is none")] = None
    parent_id: Annotated[Name | None, Meta(description="the id of the event that it follows from")] = None
    expected_seq: Annotated[Seq | None, Meta(description="refuse it unless the log ends with this seq")] = None
    create: Create = False


class AppendAction(NewEntry, kw_only=True):
    """An action to append."""

    type: Annotated[OwnName, Meta(description="what kind of action it is, such as `tool_call` or `note`")]


class AppendResponse(NewEntry, kw_only=True):
    """A response to append."""


class ReadEvents(OfSession, kw_only=True):
    """Which events to read."""

    before: Annotated[Seq | None, Meta(description="the newest with a smaller seq: `cursor.before`")] = None
    after: Annotated[Seq | None, Meta(description="the oldest with a larger seq: `cursor.after`")] = None
    types: Types = None
    limit: Limit = DEFAULT_ENTRIES


class ReadEvent(OfSession, kw_only=True):
    """Which event to read."""

    seq: Annotated[Seq, Meta(description="its place in the log, from 1")]


class SearchEvents(Body, kw_only=True):
    """What to find."""

    query: Annotated[str, Meta(min_length=1, description='`word`, `"a phrase"`, `pre*`, `-without`')]
    session_id: Annotated[Handle | None, Meta(description="only in this session")] = None
    user: Annotated[Name | None, Meta(description="only in this user's sessions")] = None
    types: Types = None
    limit: Limit = DEFAULT_ENTRIES
    cursor: Cursor = None


def _action(given: AppendAction) -> RouteRequest:
    return _append("/api/actions/{}", given, {"type": given.type})


def _response(given: AppendResponse) -> RouteRequest:
    return _append("/api/actions/{}/responses", given, {})


def _append(template: str, given: NewEntry, more: dict[str, Any]) -> RouteRequest:
    known = {
        "timestamp": given.timestamp,
        "eventId": given.event_id,
        "parentId": given.parent_id,
        "expectedSeq": given.expected_seq,
    }
    body = {**more, **only_given(known), "details": {} if given.details is UNSET else given.details}
    where = of(template, given.session_id)
    return RouteRequest("POST", where, {"create": given.create}, body, given.idempotency_key)


def _read(given: ReadEvents) -> RouteRequest:
    query = {"before": given.before, "after": given.after, "type": given.types, "limit": given.limit}
    return RouteRequest("GET", of("/api/sessions/{}/events", given.session_id), query)


def _read_one(given: ReadEvent) -> RouteRequest:
    return RouteRequest("GET", of("/api/sessions/{}/events/{}", given.session_id, str(given.seq)))


def _search(given: SearchEvents) -> RouteRequest:
    query = {
        "q": given.query,
        "session": given.session_id,
        "user": given.user,
        "type": given.types,
        "limit": given.limit,
        "cursor": given.cursor,
    }
    return RouteRequest("GET", "/api/query/search", query)


TOOLS = (
    McpTool(
        "append_action",
        "Append an action",
        "Append an action to a session's log: something that was done, seen or decided. It is durable once this "
        "returns, and is never changed.",
        ADDS,
        AppendAction,
        ActionReceipt,
        _action,
    ),
    McpTool(
        "append_response",
        "Append a response",
        "Append a response to a session's log: what the agent answered.",
        ADDS,
        AppendResponse,
        ActionReceipt,
        _response,
    ),
    McpTool(
        "read_events",
        "Read events",
        "Events of a session, oldest first: the newest, or those before or after a seq. Details of more than 64 KiB "
        "are left out, and `detailsBytes` says how large they are: `read_event` gives one event whole.",
        READS,
        ReadEvents,
        EventWindow,
        _read,
    ),
    McpTool("read_event", "Read one event", "One event of a session, whole.", READS, ReadEvent, EventView, _read_one),
    McpTool(
        "search_events",
        "Search events",
        "Find events by their words, newest first, in all sessions or in one, with the text around the first match.",
        READS,
        SearchEvents,
        HitList,
        _search,
    ),
)

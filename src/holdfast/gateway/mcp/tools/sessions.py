"""Tools for sessions: list, look, resume, create, and what becomes of one."""

from typing import Annotated, Any

from msgspec import Meta, field

from holdfast.core.ids import check_session_id
from holdfast.core.statuses import COMPLETED, SessionStatus
from holdfast.gateway.mcp.arguments import (
    DEFAULT_ENTRIES,
    ChangeOfSession,
    Cursor,
    Handle,
    Limit,
    OfSession,
    RetryKey,
)
from holdfast.gateway.mcp.service import RouteRequest, only_given, path
from holdfast.gateway.mcp.tool import ADDS, READS, REPLACES, McpTool
from holdfast.gateway.wire.forks import ForkView, ResumeView, SessionEndView, SuccessorView, Tags
from holdfast.gateway.wire.sessions import SessionList, SessionMade, SessionView
from holdfast.gateway.wire.types import Body, Name, Seq


class ListSessions(Body, kw_only=True):
    """Which sessions to list."""

    user: Annotated[Name | None, Meta(description="only this user's")] = None
    agent: Annotated[Name | None, Meta(description="only this agent's")] = None
    tag: Annotated[Name | None, Meta(description="only those with this tag")] = None
    status: SessionStatus | None = None
    words: Annotated[str | None, Meta(description="only those in whose events these words are found")] = None
    began_from: Annotated[str | None, Meta(description="only those that began then or later, ISO 8601")] = None
    began_to: Annotated[str | None, Meta(description="only those that began earlier, ISO 8601")] = None
    limit: Limit = DEFAULT_ENTRIES
    cursor: Cursor = None


class ShowSession(OfSession, kw_only=True):
    """Which session, and how much of its log."""

    limit: Limit = DEFAULT_ENTRIES


class CreateSession(Body, kw_only=True):
    """A session to make."""

    session_id: Annotated[Handle | None, Meta(description="its id; one is made if there is none")] = None
    user_id: Annotated[Name | None, Meta(description="whose it is")] = None
    agent: Annotated[Name | None, Meta(description="the agent that it is of")] = None
    initial: Annotated[Any, Meta(description="how it begins: source, input, config, or anything else")] = None
    tags: list[Name] | None = None
    metadata: Annotated[dict[str, Any] | None, Meta(description="what else is to be known of it")] = None
    parent_session: Annotated[Handle | None, Meta(description="the session that it is part of")] = None
    idempotency_key: RetryKey = None


class FinalizeSession(ChangeOfSession, kw_only=True):
    """How a session ends."""

    status: SessionStatus = COMPLETED
    outcome: Annotated[Any, Meta(description="what came of it")] = None
    response: Annotated[Any, Meta(description="the last answer")] = None


class ForkSession(ChangeOfSession, kw_only=True):
    """Where to fork."""

    at: Annotated[Seq | None, Meta(description="up to this event's seq; to the end if left out")] = None
    checkpoint_id: Annotated[Name | None, Meta(description="up to this checkpoint instead")] = None
    new_session_id: Annotated[Handle | None, Meta(description="the fork's id; one is made if there is none")] = None
    key: Annotated[Name | None, Meta(description="a new session key that is to route to the fork")] = None


class ResetSession(ChangeOfSession, kw_only=True):
    """Which session is to be followed by an empty one."""

    new_session_id: Annotated[Handle | None, Meta(description="the new one's id; one is made if there is none")] = None


class TagSession(ChangeOfSession, kw_only=True):
    """Tags to add and to remove."""

    add: list[Name] = field(default_factory=list)
    remove: list[Name] = field(default_factory=list)


def _list(given: ListSessions) -> RouteRequest:
    query = {
        "user": given.user,
        "agent": given.agent,
        "tag": given.tag,
        "status": given.status,
        "q": given.words,
        "from": given.began_from,
        "to": given.began_to,
        "limit": given.limit,
        "cursor": given.cursor,
    }
    return RouteRequest("GET", "/api/sessions", query)


def _show(given: ShowSession) -> RouteRequest:
    return RouteRequest("GET", of("/api/sessions/{}", given.session_id), {"limit": given.limit})


def _resume(given: ShowSession) -> RouteRequest:
    return RouteRequest("GET", of("/api/sessions/{}/resume", given.session_id), {"limit": given.limit})


def _create(given: CreateSession) -> RouteRequest:
    body = only_given(
        {
            "sessionId": given.session_id,
            "userId": given.user_id,
            "agent": given.agent,
            "initial": given.initial,
            "tags": given.tags,
            "metadata": given.metadata,
            "parentSession": given.parent_session,
        }
    )
    return RouteRequest("POST", "/api/sessions", body=body, key=given.idempotency_key)


def _finalize(given: FinalizeSession) -> RouteRequest:
    body = only_given({"status": given.status, "outcome": given.outcome, "response": given.response})
    where = of("/api/sessions/{}/finalize", given.session_id)
    return RouteRequest("POST", where, body=body, key=given.idempotency_key)


def _fork(given: ForkSession) -> RouteRequest:
    body = only_given(
        {
            "at": given.at,
            "checkpointId": given.checkpoint_id,
            "sessionId": given.new_session_id,
            "key": given.key,
        }
    )
    where = of("/api/sessions/{}/fork", given.session_id)
    return RouteRequest("POST", where, body=body, key=given.idempotency_key, slow=True)


def _reset(given: ResetSession) -> RouteRequest:
    where = of("/api/sessions/{}/reset", given.session_id)
    return RouteRequest("POST", where, body=only_given({"sessionId": given.new_session_id}), key=given.idempotency_key)


def _tag(given: TagSession) -> RouteRequest:
    where = of("/api/sessions/{}/tags", given.session_id)
    return RouteRequest("POST", where, body={"add": given.add, "remove": given.remove}, key=given.idempotency_key)


def of(template: str, session_id: str, *names: str) -> str:
    """The path of something of a session."""
    return path(template, check_session_id(session_id), *names)


TOOLS = (
    McpTool(
        "list_sessions",
        "List sessions",
        "Sessions, newest first, a page at a time. Filter by user, agent, tag, status, time, or words in their events.",
        READS,
        ListSessions,
        SessionList,
        _list,
    ),
    McpTool(
        "show_session",
        "Show a session",
        "A session with its description, state, and the newest actions and responses of its log.",
        READS,
        ShowSession,
        SessionView,
        _show,
    ),
    McpTool(
        "resume_session",
        "Resume a session",
        "All that is needed to go on with a session: the newest summary, the events after it, the state, open goals, "
        "sub-agents, and tool effects that were begun and not finished. `complete` says whether any event lacks.",
        READS,
        ShowSession,
        ResumeView,
        _resume,
    ),
    McpTool(
        "create_session",
        "Create a session",
        "Make a session and get its id, the handle that all other tools take. With an id that there is already, the "
        "same description is answered as before, another one is refused.",
        ADDS,
        CreateSession,
        SessionMade,
        _create,
    ),
    McpTool(
        "finalize_session",
        "Finalize a session",
        "End a session with a status, an outcome and a last response. Its log stays readable.",
        REPLACES,
        FinalizeSession,
        SessionEndView,
        _finalize,
    ),
    McpTool(
        "fork_session",
        "Fork a session",
        "Make a new session with this one's log up to an event or a checkpoint. The session itself is not changed.",
        ADDS,
        ForkSession,
        ForkView,
        _fork,
    ),
    McpTool(
        "reset_session",
        "Reset a session",
        "Put a new, empty session in this one's place on its session keys. The old one stays readable by its id.",
        REPLACES,
        ResetSession,
        SuccessorView,
        _reset,
    ),
    McpTool(
        "tag_session",
        "Tag a session",
        "Add and remove tags of a session.",
        REPLACES,
        TagSession,
        Tags,
        _tag,
    ),
)

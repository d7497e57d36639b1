"""Actions: append one, append a batch or a response, read a window. These are the busy routes, so they are plain ones.

An answer that says 201 or 200 means that the events are durable. The same key, or event id, again is answered 200
with the first result.
"""

from collections.abc import Callable, Sequence

from msgspec import UNSET, Raw
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import NewEvent, strict_json, types
from holdfast.core.clock import to_iso
from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.gateway.access.auth import store_of
from holdfast.gateway.api.answers import HOLE, PiecesAnswer, json_answer
from holdfast.gateway.api.body import BodyUse, parse_action, parse_actions, parse_response, query_parser, read_body
from holdfast.gateway.api.operation import ApiOperation
from holdfast.gateway.api.parameters import milliseconds
from holdfast.gateway.routes import window
from holdfast.gateway.wire.sessions import (
    ActionPage,
    ActionReceipt,
    ActionsQuery,
    BatchQuery,
    BatchReceipt,
    NewAction,
    NewActions,
    NewResponse,
    WriteQuery,
    action,
)

IDEMPOTENCY_KEY = "idempotency-key"
LARGE_DETAILS = 128 * 1024
"""Of an action: they are sent as they are stored, not copied into the answer."""

_write_query = query_parser(WriteQuery)
_batch_query = query_parser(BatchQuery)
_actions_query = query_parser(ActionsQuery)


class Actions:
    """The routes of `/api/actions`."""

    def operations(self) -> list[ApiOperation]:
        """What is served, in the order of matching."""
        return [
            ApiOperation(
                "POST",
                "/api/actions/{session_id}",
                self.append,
                "Append an action",
                query=WriteQuery,
                body=NewAction,
                answers={201: ActionReceipt, 200: ActionReceipt},
                headers=(IDEMPOTENCY_KEY,),
            ),
            ApiOperation(
                "POST",
                "/api/actions/{session_id}/batch",
                self.append_batch,
                "Append actions, all or none",
                query=BatchQuery,
                body=NewActions,
                lines_of=NewAction,
                answers={201: BatchReceipt, 200: BatchReceipt},
                headers=(IDEMPOTENCY_KEY,),
            ),
            ApiOperation(
                "POST",
                "/api/actions/{session_id}/responses",
                self.append_response,
                "Append a response",
                query=WriteQuery,
                body=NewResponse,
                answers={201: ActionReceipt, 200: ActionReceipt},
                headers=(IDEMPOTENCY_KEY,),
            ),
            ApiOperation(
                "GET",
                "/api/actions/{session_id}",
                self.read,
                "Read actions: the newest, or those after a seq",
                query=ActionsQuery,
                answers={200: ActionPage},
            ),
        ]

    async def append(self, request: Request) -> Response:
        """Append one action."""
        return await self._append_one(request, parse_action)

    async def append_response(self, request: Request) -> Response:
        """Append one response."""
        return await self._append_one(request, parse_response)

    async def _append_one(self, request: Request, parse: Callable[[bytes], NewAction | NewResponse]) -> Response:
        query = _write_query(request)

        def parse_event(raw: bytes) -> tuple[NewEvent, int | None]:
            body = parse(raw)
            return new_event(body, _key(request, body)), body.expected_seq

        event, expected_seq = await read_body(request, parse_event, BodyUse.OUTLINE)
        session_id = request.path_params["session_id"]
        done = await store_of(request).append(session_id, [event], expected_seq=expected_seq, create=query.create)
        written = ActionReceipt(done.seqs[0], done.event_ids[0], to_iso(done.created_at[0]))
        return json_answer(written, 200 if done.replayed else 201)

    async def append_batch(self, request: Request) -> Response:
        """Append the actions of a batch in one write."""
        query = _batch_query(request)

        def parse(raw: bytes) -> tuple[list[NewEvent], int | None]:
            bodies = parse_actions(raw)
            events = [new_event(body, body.idempotency_key or None) for body in bodies]
            return events, expectation(bodies, query.expected_seq)

        events, expected_seq = await read_body(request, parse, BodyUse.BATCH)
        done = await store_of(request).append(
            request.path_params["session_id"],
            events,
            expected_seq=expected_seq,
            create=query.create,
            batch_key=request.headers.get(IDEMPOTENCY_KEY) or None,
        )
        written = BatchReceipt(done.first_seq, done.last_seq, list(done.seqs), done.replayed)
        return json_answer(written, 200 if done.replayed == len(events) else 201)

    async def read(self, request: Request) -> Response:
        """Read a window of actions."""
        query = _actions_query(request)
        store = store_of(request)
        session_id = request.path_params["session_id"]
        wanted = window.of_types(query.type)
        try:
            if query.after is None:
                found = await window.newest(store, session_id, query.limit, query.before, wanted)
            else:
                found = await window.following(store, session_id, query.limit, query.after, query.before, wanted)
        except Corrupt as error:
            raise with_way_around(error) from None
        page = ActionPage([action(event) for event in found.events], found.cursor)
        large: list[bytes] = []
        for event, shown in zip(found.events, page.actions, strict=True):
            if event.erased is None and len(event.payload) > LARGE_DETAILS:
                large.append(event.payload)
                shown.details = Raw(HOLE)
        return PiecesAnswer(page, large) if large else json_answer(page)


def with_way_around(error: Corrupt) -> Corrupt:
    """The error with the windows that leave out the event that it names, if it names one."""
    seq = error.details.get("seq")
    hint = error.hint if seq is None else f"before={seq} and after={seq} read what is beside it; {error.hint}"
    return Corrupt(error.message, hint=hint, **error.details)


def new_event(body: NewAction | NewResponse, key: str | None) -> NewEvent:
    """The event that a body asks for."""
    assert body.details is not UNSET
    return NewEvent(
        body.type if isinstance(body, NewAction) else types.RESPONSE,
        strict_json.CheckedJson(body.details),
        body.event_id,
        key,
        body.parent_id,
        milliseconds(body.timestamp),
    )


def expectation(bodies: Sequence[NewAction], expected_seq: int | None) -> int | None:
    """What the batch expects: the query's, or its first action's; a later action cannot expect anything."""
    if any(body.expected_seq is not None for body in bodies[1:]):
        raise InvalidInput(
            "only the first action of a batch can have an expectedSeq", hint="a batch is one write: say it once"
        )
    first = bodies[0].expected_seq if bodies else None
    return expected_seq if expected_seq is not None else first


def _key(request: Request, body: NewAction | NewResponse) -> str | None:
    return body.idempotency_key or request.headers.get(IDEMPOTENCY_KEY) or None

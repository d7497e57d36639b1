"""Live feeds as messages, whatever carries them: one session's, those of a user, or the whole store's.

The first message says where the feed starts; each one after it is an event, with what is needed to go on from it: a
seq for a session, a cursor for the store. Asking again after the last one seen misses and repeats nothing. Without
`after` or `cursor` a feed starts now. A feed is made as fast as it is taken: a slow client gets everything, later. One
that has to make room for others is told so, and goes on where it was.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from enum import Enum
from typing import Any

import msgspec

from holdfast import __version__
from holdfast.core import Event, types
from holdfast.core.clock import to_iso
from holdfast.core.errors import HistoryChanged, InvalidInput
from holdfast.core.ids import check_name
from holdfast.core.race import first_of
from holdfast.gateway.access.scopes import Caller
from holdfast.gateway.api.body import query_parser
from holdfast.gateway.connections.unsent_output import PIECE, UnsentOutput
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.live.copies import Copies, Copy, Form
from holdfast.gateway.live.owners import Owners
from holdfast.gateway.wire.feeds import Connected, FeedMessage, FeedQuery
from holdfast.gateway.wire.sessions import action, details
from holdfast.store import Store

BREATH = 100
"""Messages after which other connections get their turn."""

feed_query = query_parser(FeedQuery)
encode = msgspec.json.Encoder().encode


class FeedEnd(Enum):
    """Why a feed was not sent any further, though it could have gone on."""

    LEFT = "the client is gone"
    STOPPING = "the gateway stops: reconnect and go on after what you have"
    REFUSED = "the token is good no more"


async def connected(store: Store, query: FeedQuery) -> Connected:
    """Where the feed that was asked for starts; a HoldfastError if there is no such place."""
    user = None if query.user is None else check_name(query.user, "a user id")
    if query.session is None:
        if query.after is not None:
            raise InvalidInput("after is the seq of a session: name the session, or use a cursor")
        if query.cursor is not None:
            await store.feed.check(query.cursor)
        return Connected(__version__, user_id=user, cursor=query.cursor or await store.feed.now())
    if query.cursor is not None:
        raise InvalidInput("a session's feed goes on after a seq: use after, not cursor")
    head = (await store.sessions.get(query.session)).head_seq
    if query.after is not None and query.after > head:
        raise HistoryChanged(f"the session ends at seq {head}: it was restored, or this is another one")
    return Connected(__version__, query.session, user, head if query.after is None else query.after)


async def messages(store: Store, start: Connected, form: Form, copies: Copies) -> AsyncGenerator[Copy, None]:
    """The feed's messages in a form, for ever; nothing of one is held here once it is taken."""
    if start.session_id is not None:
        session = store.feed.session(start.session_id, after=start.after or 0)
        async with aclosing(session):
            async for event in session:
                copy = copies.of(form, store.tenant, start.session_id, event)
                del event
                yield copy
                del copy
    else:
        owners = Owners(store)
        everything = store.feed.everything(start.cursor)
        async with aclosing(everything):
            async for envelope in everything:
                if start.user_id is None or await owners.of(envelope) == start.user_id:
                    copy = copies.of(form, store.tenant, envelope.session_id, envelope.event, envelope.cursor)
                    del envelope
                    yield copy
                    del copy


def message(event: Event, session_id: str, cursor: str | None = None) -> FeedMessage:
    """The event as followers see it."""
    timestamp = to_iso(event.created_at)
    if event.type.startswith(types.PREFIX):
        kind = event.type.removeprefix(types.PREFIX)
        return FeedMessage(kind, session_id, event.seq, details(event), timestamp, cursor)
    return FeedMessage("action", session_id, event.seq, action(event), timestamp, cursor)


async def send_all(
    feed: AsyncGenerator[Copy, None], unsent: UnsentOutput, send: Callable[[bytes], Awaitable[None]]
) -> None:
    """Send what the feed gives, giving way now and then; Busy if there is no room for a large message."""
    async with aclosing(feed):
        number = 0
        async for found in feed:
            if len(found.body) > PIECE:
                unsent.make_room(found.body)
            await send(found.body)
            del found
            number += 1
            if number % BREATH == 0:
                await asyncio.sleep(0)


async def until_it_ends(
    gateway: Gateway, caller: Caller, sending: Coroutine[Any, Any, None], leaving: Coroutine[Any, Any, None]
) -> FeedEnd:
    """Send until the client leaves, the gateway stops or the caller may no longer; or raise what the sending raises."""
    sent, left, refused, _ = await first_of(
        sending, leaving, gateway.watch.until_refused(caller), gateway.stopping.wait()
    )
    if left is not None:
        return FeedEnd.LEFT
    if sent is not None:
        sent.result()
    return FeedEnd.STOPPING if refused is None else FeedEnd.REFUSED

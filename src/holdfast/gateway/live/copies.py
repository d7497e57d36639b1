"""Messages as they are sent, each made once: all who are sent the same large one share its bytes.

A copy lives for as long as somebody sends it. Small messages are made for each follower, which costs less than to look.
"""

from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakValueDictionary

from holdfast.core import Event
from holdfast.gateway.connections.unsent_output import PIECE

Form = Callable[[Event, str, str | None], bytes]
"""How an event is written, given its session and its cursor if it has one."""


class Copy:
    """The bytes of a message."""

    __slots__ = ("__weakref__", "body")

    def __init__(self, body: bytes) -> None:
        self.body = body


class _Key(NamedTuple):
    form: Form
    tenant: str
    session_id: str
    hash: bytes
    erased: bytes | None
    cursor: str | None


class Copies:
    """The large messages that are being sent."""

    def __init__(self) -> None:
        self._made: WeakValueDictionary[_Key, Copy] = WeakValueDictionary()

    def of(self, form: Form, tenant: str, session_id: str, event: Event, cursor: str | None = None) -> Copy:
        """The event in this form."""
        if len(event.payload) <= PIECE:
            return Copy(form(event, session_id, cursor))
        key = _Key(form, tenant, session_id, event.hash, event.erased, cursor)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Copy(form(event, session_id, cursor))
        return found

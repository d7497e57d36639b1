"""Whether one session is what was written, for whoever may read it: asked by many at once, it is looked up once.

It ends after a while, as every read does: a very long log is for whoever runs the gateway to verify.
"""

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from holdfast.core.errors import Busy, ReadTimeout
from holdfast.core.ids import check_session_id
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import TenantStore
from holdfast.gateway.wire.looks import VerificationView
from holdfast.store import SessionVerdict, Store

MOST_SECONDS = 10.0
MOST_AT_ONCE = 4


class _Underway:
    """A verification that some wait for."""

    def __init__(self, task: "asyncio.Task[SessionVerdict]") -> None:
        self.task = task
        self.waiting = 0


class Verdicts:
    """The verifications that one gateway has under way; one that nobody waits for any more is given up."""

    def __init__(self, most_seconds: float = MOST_SECONDS) -> None:
        self._most_seconds = most_seconds
        self._underway: dict[tuple[str, str], _Underway] = {}

    async def of(self, store: Store, session_id: str) -> SessionVerdict:
        """What verification finds of a session; Busy if too many are verified, ReadTimeout if it takes too long."""
        key = (store.tenant, session_id)
        shared = self._underway.get(key)
        if shared is None:
            if len(self._underway) >= MOST_AT_ONCE:
                raise Busy(f"{len(self._underway)} sessions are verified already", retry_after=2)
            shared = self._underway[key] = _Underway(asyncio.create_task(self._verify(store, session_id)))
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                shared.task.cancel()
                if self._underway.get(key) is shared:
                    del self._underway[key]

    async def _verify(self, store: Store, session_id: str) -> SessionVerdict:
        try:
            async with asyncio.timeout(self._most_seconds):
                return await store.verification.session(session_id)
        except TimeoutError:
            raise ReadTimeout(
                f"session {session_id!r} was not verified within {self._most_seconds:g} s",
                hint="`holdfast sessions verify` takes the time that a long log needs; so does POST /api/verify",
            ) from None


def add_routes(routes: APIRouter, verdicts: Verdicts) -> None:
    """Serve `/api/sessions/{session_id}/verification`."""

    @routes.get(
        "/api/sessions/{session_id}/verification",
        summary="Whether a session is what was written",
        **described({200: VerificationView}),
    )
    async def verify_session(store: TenantStore, session_id: str) -> Response:
        found = await verdicts.of(store, check_session_id(session_id))
        ok = found.problem is None
        return json_answer(VerificationView(ok, found.events, found.head_hash, found.problem, found.bad_seq))

"""What an operator asks of a gateway: its status, a verification, what retention ends, a backup."""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.clock import to_iso
from holdfast.core.errors import Closing, Corrupt, InvalidInput, NotFound, SessionGone
from holdfast.gateway.access.auth import caller_of
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import or_empty, parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.operation import LINES
from holdfast.gateway.api.parameters import TenantStore
from holdfast.gateway.api.streams import BodyStream
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.operations.session_files import FilesProcess
from holdfast.gateway.operations.timers import Timer
from holdfast.gateway.wire.upkeep import (
    BackupOrder,
    BackupView,
    DamagedView,
    DoomedView,
    FilesView,
    RetentionOrder,
    RetentionView,
    ServerView,
    StatusView,
    TimerView,
    Verify,
    VerifyLine,
)
from holdfast.store import DoomedSession, Policy, SessionVerdict, Store, StoreSnapshot
from holdfast.store.backup import back_up
from holdfast.store.operators import OPERATOR
from holdfast.store.tasks import LiveServer

_encode = msgspec.json.Encoder().encode
_verify = or_empty(parse_into(Verify))
_retention = parse_into(RetentionOrder)
_backup = parse_into(BackupOrder)


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve `/api/status`, `/api/verify`, `/api/retention` and `/api/backup`."""

    @routes.get("/api/status", summary="The gateway and its store", **described({200: StatusView}))
    async def get_status(store: TenantStore, request: Request) -> Response:
        sums = await store.snapshot(StoreSnapshot.totals)
        whole = caller_of(request).may(OPERATOR)
        figures = await gateway.readiness.figures() if whole else {}
        engine = store.engine
        return json_answer(
            StatusView(
                gateway.version,
                os.getpid() if whole else None,
                round(gateway.uptime, 3),
                gateway.address,
                gateway.dashboard,
                gateway.agents,
                str(gateway.log.files.path) if whole and gateway.log is not None else None,
                [timer_view(each) for each in gateway.timers] if whole else [],
                engine.url if whole else None,
                str(gateway.data) if whole and gateway.data is not None else None,
                engine.name,
                engine.version,
                store.schema_version,
                store.store_id,
                figures.get("sizeBytes"),
                figures.get("walSizeBytes"),
                sums.sessions,
                sums.events,
                figures,
                [server_view(each) for each in await store.servers.list()] if whole else [],
                gateway.legacy if whole else None,
                files_view(gateway.files) if whole and gateway.files is not None else None,
            )
        )

    @routes.post(
        "/api/verify",
        summary="Derive sessions again from their logs, and compare; a line for each as it is done",
        **described({200: VerifyLine}, body=Verify, media=LINES, body_required=False),
    )
    async def verify_sessions(store: TenantStore, request: Request) -> Response:
        chosen = (await read_body(request, _verify)).sessions
        for session_id in chosen or ():
            await store.sessions.get(session_id)
        return BodyStream(verification(store, chosen), LINES, gateway.stopping)

    @routes.post(
        "/api/retention",
        summary="Delete the sessions that are over these limits, archived first",
        **described({200: RetentionView}, body=RetentionOrder),
    )
    async def apply_retention(store: TenantStore, request: Request) -> Response:
        order = await read_body(request, _retention)
        plan = await store.retention.plan(Policy(order.max_age_ms, order.max_sessions, order.max_bytes))
        deleted = [] if order.dry_run else await store.retention.run(plan)
        return json_answer(
            RetentionView([doomed(each) for each in plan.doomed], plan.held, [each.session_id for each in deleted])
        )

    @routes.post(
        "/api/backup",
        summary="Copy the whole store to a new file, and check the copy",
        **described({200: BackupView}, body=BackupOrder),
    )
    async def make_backup(store: TenantStore, request: Request) -> Response:
        path = backup_path((await read_body(request, _backup)).path)

        def told(_what: str, _done: int, _of: int) -> None:
            if gateway.stopping.is_set():
                raise Closing("the gateway is stopping: there is no backup")

        made = await back_up(store, path, folder=gateway.conversations, told=told)
        gateway.backed_up(made)
        damaged = [DamagedView(each.tenant, each.session_id, each.problem) for each in made.damaged]
        return json_answer(BackupView(str(made.path), made.size_bytes, made.sessions, True, damaged, made.files))


async def verification(store: Store, session_ids: Sequence[str] | None) -> AsyncGenerator[bytes, None]:
    """The lines of a verification: the files, every session, the end."""
    yield line(files=await store.verification.files())
    done = bad = 0
    async for session_id in chosen_sessions(store, session_ids):
        found = await verified(store, session_id)
        if found is None:
            continue
        done, bad = done + 1, bad + (found.problem is not None)
        yield line(
            sessionId=found.session_id,
            ok=found.problem is None,
            events=found.events,
            headHash=found.head_hash,
            problem=found.problem,
            badSeq=found.bad_seq,
        )
    yield line(done=True, verified=done, bad=bad)


async def verified(store: Store, session_id: str) -> SessionVerdict | None:
    """What verification found of a session; None if it was deleted meanwhile."""
    try:
        return await store.verification.session(session_id)
    except Corrupt as error:
        return SessionVerdict(session_id, 0, "", error.message)
    except (NotFound, SessionGone):
        return None


async def chosen_sessions(store: Store, session_ids: Sequence[str] | None) -> AsyncIterator[str]:
    """These sessions, or all of them, oldest first."""
    for session_id in session_ids or ():
        yield session_id
    page = await store.verification.sessions() if session_ids is None else []
    while page:
        for session_id in page:
            yield session_id
        page = await store.verification.sessions(after=page[-1])


def backup_path(text: str) -> Path:
    """Where a backup goes, or InvalidInput."""
    path = Path(text)
    if "\0" in text or not path.is_absolute():
        raise InvalidInput(f"{text!r:.200} is not an absolute path", hint="a path on the gateway's machine")
    return path


def line(**members: Any) -> bytes:
    """A line of JSON."""
    return _encode(members) + b"\n"


def timer_view(timer: Timer) -> TimerView:
    """A timer as an operator sees it."""
    return TimerView(
        timer.name,
        timer.every_ms,
        timer.running,
        None if timer.last_success is None else to_iso(timer.last_success),
        None if timer.last_failure is None else to_iso(timer.last_failure),
        timer.failure,
        timer.runs,
        timer.failures,
    )


def files_view(files: FilesProcess) -> FilesView:
    """The files of sessions as an operator sees them."""
    return FilesView(str(files.folder), files.pid, files.caught_up, files.starts, files.trouble)


def server_view(found: LiveServer) -> ServerView:
    """A gateway of the store as an operator sees it."""
    return ServerView(found.url, found.host, found.pid, to_iso(found.started_at))


def doomed(found: DoomedSession) -> DoomedView:
    """A session that retention ends, as clients see it."""
    return DoomedView(found.session_id, found.reason, to_iso(found.updated_at), found.size_bytes)

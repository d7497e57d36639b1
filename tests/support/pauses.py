"""Several gateways on one PostgreSQL that are paused, killed, stopped and cut off, while clients talk and write.

The faults are those of a plan. When they are over everybody comes to an end, and what is there is looked at: nothing
acknowledged is lost or doubled, no task failed that could have been resumed, effects happened once, news were posted.
"""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from tests.support import conversing_clients
from tests.support import pauses_plan as plan
from tests.support.breakable_link import Way, way_to
from tests.support.conversing_clients import Talk, Talks, talk_until_stopped
from tests.support.gateway_kills import Gateway, fixed_ports
from tests.support.pauses_plan import Fault, plan_of
from tests.support.retrying_clients import Clients, write_until_stopped
from tests.support.retrying_clients import wrongs as written_wrongs
from tests.support.scripted_server import ScriptedServer, webhook

from holdfast.store import open_store

TALKS, WRITERS, SESSIONS = 6, 4, 2
PATIENCE = 120.0
SECONDS_BETWEEN_WORDS = 15.0
END_BACKENDS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name <> 'faults' AND backend_type = 'client backend'
      AND abs(hashtext(pid::text)) %% 100 < %s"""

Say = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    """What a run found."""

    faults: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    tasks: Counter[str] = field(default_factory=Counter)
    given_up: int = 0
    written: int = 0
    posts: int = 0

    def __str__(self) -> str:
        faults = ", ".join(f"{kind} {times}" for kind, times in sorted(self.faults.items()))
        tasks = ", ".join(f"{state} {times}" for state, times in sorted(self.tasks.items()))
        return (
            f"{self.faults.total()} faults ({faults}); {self.tasks.total()} tasks ({tasks}; {self.given_up} after all"
            f" tries); {self.written} writes acknowledged; {self.posts} posts; {len(self.wrong)} wrong"
        )


@dataclass(slots=True)
class Served:
    """A gateway, its way to the database, and the fault that it is in."""

    gateway: Gateway
    way: Way
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)


async def pause_gateways(
    store_url: str, folder: Path, faults: int, *, gateways: int, seed: int, say: Say, until: float | None = None
) -> Outcome:
    """Run a plan of so many faults, or as much of it as comes before a time (of the monotonic clock)."""
    outcome = Outcome()
    async with AsyncExitStack() as stack:
        hook = stack.enter_context(webhook())
        served = [await _served(stack, store_url, folder / f"g{n}") for n in range(gateways)]
        for each, port in zip(served, fixed_ports(gateways), strict=True):
            each.gateway.port = port
            stack.push_async_callback(_kill, each)
            each.gateway.start()
            await each.gateway.until_ready(PATIENCE)
        talks = Talks([each.gateway.url for each in served], hook, [Talk(f"talk{n}") for n in range(TALKS)])
        clients = Clients([each.gateway.url for each in served])
        work = [asyncio.create_task(talk_until_stopped(talks, talk, seed)) for talk in talks.all]
        work += [
            asyncio.create_task(write_until_stopped(clients, f"w{n}", f"plain{n % SESSIONS}", n))
            for n in range(WRITERS)
        ]
        stack.push_async_callback(_cancel, work)
        await _run_plan(plan_of(seed, faults, gateways), served, store_url, outcome, talks, say, until)
        talks.stopping = clients.stopping = True
        await _come_to_an_end(work, talks, outcome)
        codes = [await each.gateway.end(signal.SIGTERM) for each in served]
        outcome.wrong += [f"a gateway ended with {code}" for code in codes if code]
        _count(outcome, talks, clients, hook)
        async with await open_store(store_url) as store:
            outcome.wrong += await written_wrongs(store, clients)
            workspaces = [each.gateway.folder / "workspace" for each in served]
            outcome.wrong += await conversing_clients.wrongs(store, talks, workspaces)
    return outcome


async def _served(stack: AsyncExitStack, store_url: str, folder: Path) -> Served:
    way = await stack.enter_async_context(way_to(store_url, folder / "way"))
    more = ("--allow-push", "127.0.0.1")
    return Served(Gateway(folder, way.url, "tests.support.asking_gateway", 0, more=more), way)


async def _run_plan(
    faults: list[Fault],
    served: list[Served],
    store_url: str,
    outcome: Outcome,
    talks: Talks,
    say: Say,
    until: float | None,
) -> None:
    """Every fault of the plan at its time; one that comes while its gateway is in another waits for that to pass."""
    began = spoke = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for fault in faults:
            now = time.monotonic()
            if until is not None and now > until:
                break
            if now - spoke > SECONDS_BETWEEN_WORDS:
                spoke = now
                say(f"    {now - began:.0f} s: {outcome.faults.total()} faults, {talks.ended} tasks ended")
            await asyncio.sleep(fault.after)
            each = served[fault.gateway]
            await each.busy.acquire()
            outcome.faults[fault.kind] += 1
            group.create_task(_suffer(each, fault, store_url, outcome))


async def _suffer(each: Served, fault: Fault, store_url: str, outcome: Outcome) -> None:
    try:
        match fault.kind:
            case plan.PAUSE:
                each.gateway.send(signal.SIGSTOP)
                try:
                    await asyncio.sleep(fault.seconds)
                finally:
                    each.gateway.send(signal.SIGCONT)
            case plan.KILL | plan.STOP:
                code = await each.gateway.end(signal.SIGKILL if fault.kind == plan.KILL else signal.SIGTERM)
                if fault.kind == plan.STOP and code:
                    outcome.wrong.append(f"a gateway that was stopped ended with {code}")
                each.gateway.start()
                await each.gateway.until_ready(PATIENCE)
            case plan.BACKENDS:
                connecting = psycopg.AsyncConnection.connect(store_url, autocommit=True, application_name="faults")
                async with await connecting as connection:
                    await connection.execute(END_BACKENDS, (int(fault.share * 100),))
            case _:
                each.way.cut()
    finally:
        each.busy.release()


async def _come_to_an_end(work: list["asyncio.Task[None]"], talks: Talks, outcome: Outcome) -> None:
    """Let all clients finish what they are at, and wait until the news of it were posted."""
    _, hanging = await asyncio.wait(work, timeout=PATIENCE)
    if hanging:
        open_ones = [said for talk in talks.all for said in talk.said if not said.state]
        outcome.wrong.append(f"{len(hanging)} clients hang after {PATIENCE:.0f} s: {open_ones}")
    for each in work:
        if each.done() and not each.cancelled() and each.exception():
            outcome.wrong.append(f"a client ended: {each.exception()!r}")
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while conversing_clients.untold(talks):
                await asyncio.sleep(0.1)


def _count(outcome: Outcome, talks: Talks, clients: Clients, hook: ScriptedServer) -> None:
    said = [each for talk in talks.all for each in talk.said]
    outcome.tasks.update(each.state.removeprefix("TASK_STATE_").lower() or "open" for each in said)
    outcome.given_up = sum(conversing_clients.GIVEN_UP in each.why for each in said)
    outcome.written = clients.answered
    outcome.posts = len(hook.requests)


async def _kill(each: Served) -> None:
    if each.gateway.runs:
        await each.gateway.end(signal.SIGKILL)


async def _cancel(work: list["asyncio.Task[None]"]) -> None:
    for each in work:
        each.cancel()
    await asyncio.gather(*work, return_exceptions=True)

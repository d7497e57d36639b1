"""The overview, made once for all who ask: it is kept for some seconds, and what was read from the store for as long as
nothing was committed. On a store that is slow to read it is kept for longer, so that it never takes more than a small
part of a core."""

import asyncio
import os
import socket
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from holdfast.core import HoldfastError, Usage
from holdfast.core.clock import to_iso
from holdfast.gateway.api.answers import Answer, answer_of
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.operations.single_flight import SingleFlight
from holdfast.gateway.operations.timers import BACKUP
from holdfast.gateway.overview import troubles
from holdfast.gateway.overview.percentiles import failures_by_code, route_times, turn_percentiles
from holdfast.gateway.overview.prices import PriceFile, PriceList
from holdfast.gateway.routes.queries import both, tokens
from holdfast.gateway.routes.upkeep import server_view, timer_view
from holdfast.gateway.wire.overview import (
    LastBackupView,
    ModelUse,
    Overview,
    OverviewDay,
    RequestsView,
    StoreFigures,
)
from holdfast.gateway.wire.upkeep import ServerView
from holdfast.store import DAY_MS, OpenWork, Store, StoreSnapshot, UsageRow

FRESH_SECONDS = 2.0
SHARE = 20
"""A read of the store is not made again before this many times its length."""
MOST_KEPT = 64
INTERRUPTED = "interrupted"
SAME_MS = 60_000
"""By how much the end of a backup may differ by two clocks."""


@dataclass(frozen=True, slots=True)
class StoreLook:
    """What the store says of a tenant, at one moment."""

    by_status: dict[str, int]
    events: int
    begun: dict[int, int]
    events_by_day: dict[int, int]
    used: list[UsageRow]
    work: OpenWork


class Overviews:
    """The overviews of one gateway, each for a tenant, a number of days, and operators or others."""

    def __init__(self, gateway: Gateway, prices: PriceFile, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._gateway = gateway
        self._prices = prices
        self._fresh_seconds = fresh_seconds
        self._kept: OrderedDict[tuple[str, int, bool], SingleFlight[Answer]] = OrderedDict()

    async def answer(self, store: Store, days: int, *, whole: bool) -> Answer:
        """The overview of these days, today the last; `whole` is for operators."""
        key = (store.tenant, days, whole)
        found = self._kept.get(key)
        if found is None:
            look = TenantLooks(store, days)

            async def ask() -> Answer:
                return answer_of(await self._make(look, whole=whole))

            found = self._kept[key] = SingleFlight(ask, self._fresh_seconds)
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return await found.get()

    async def _make(self, looks: "TenantLooks", *, whole: bool) -> Overview:
        gateway, store, now = self._gateway, looks.store, looks.store.clock.now()
        seen = await looks.look()
        prices = await asyncio.to_thread(self._prices.read)
        figures = await self._figures() if whole else {}
        known = figures or {}
        interrupted = seen.by_status.get(INTERRUPTED, 0)
        found = list(troubles.of_tenant(interrupted, seen.work))
        if whole:
            found += troubles.of_gateway(gateway, figures, self._prices.problem, now)
        return Overview(
            to_iso(now),
            days_of(seen, prices, looks.days),
            models_of(seen, prices),
            prices.currency,
            self._requests(now) if whole else None,
            StoreFigures(
                store.engine.name,
                known.get("sizeBytes"),
                known.get("walSizeBytes"),
                known.get("diskFreeBytes"),
                sum(seen.by_status.values()),
                seen.events,
                seen.work.archives,
            ),
            await self._gateways(now) if whole else [],
            [timer_view(each) for each in gateway.timers] if whole else [],
            last_backup(gateway) if whole else None,
            seen.work.waiting_tasks,
            interrupted,
            seen.work.unresolved_effects,
            troubles.worst_first(iter(found)),
        )

    async def _gateways(self, now: int) -> list[ServerView]:
        """The gateways of the store; of one that nobody shares, this one."""
        found = [server_view(each) for each in await self._gateway.store.servers.list()]
        url = self._gateway.address
        if found or url is None:
            return found
        return [ServerView(url, socket.gethostname(), os.getpid(), to_iso(now - int(self._gateway.uptime * 1000)))]

    async def _figures(self) -> dict[str, Any] | None:
        """The sizes of the store; None if it cannot tell, which is a trouble and no failure of the overview."""
        try:
            return await self._gateway.readiness.figures()
        except HoldfastError:
            return None

    def _requests(self, now: int) -> RequestsView:
        gateway = self._gateway
        return RequestsView(
            to_iso(now - int(gateway.uptime * 1000)),
            route_times(gateway.counts),
            turn_percentiles(gateway.turn_times),
            failures_by_code(gateway.counts),
        )


class TenantLooks:
    """What was last read of a tenant, and when that may be read again."""

    def __init__(self, store: Store, days: int) -> None:
        self.store = store
        self._days = days
        self._moment: str | None = None
        self._seen: StoreLook | None = None
        self._first_day = 0
        self._again_at = 0.0

    @property
    def days(self) -> range:
        """The days, counted from 1970; today is the last."""
        today = self.store.clock.now() // DAY_MS
        return range(today - self._days + 1, today + 1)

    async def look(self) -> StoreLook:
        """What the store says; what it said before if nothing was committed since, or that was too much work."""
        first = self.days.start
        if self._seen is not None and first == self._first_day and time.monotonic() < self._again_at:
            return self._seen
        began = time.monotonic()
        known = self._moment if first == self._first_day else None
        moment, found = await self.store.commit_versions.reread(known, lambda snapshot: looked(snapshot, first))
        if found is not None:
            self._moment, self._seen, self._first_day = moment, found, first
            self._again_at = time.monotonic() + SHARE * (time.monotonic() - began)
        assert self._seen is not None
        return self._seen


def looked(snapshot: StoreSnapshot, first_day: int) -> StoreLook:
    """One look at a tenant's sessions."""
    sums = snapshot.totals()
    return StoreLook(
        sums.by_status,
        sums.events,
        snapshot.begun_by_day(first_day),
        snapshot.events_by_day(first_day),
        snapshot.usage_by_day(first_day),
        snapshot.open_work(),
    )


def days_of(seen: StoreLook, prices: PriceList, days: range) -> list[OverviewDay]:
    """Every one of the days, the oldest first, and such from the future, by a clock gone wrong, on which there is
    something."""
    used: dict[int, Usage] = {}
    cost: dict[int, int] = {}
    for row in seen.used:
        used[row.day] = both(used.get(row.day, Usage()), row.usage)
        cost[row.day] = cost.get(row.day, 0) + cost_of(row, prices)
    return [
        OverviewDay(
            to_iso(day * DAY_MS)[:10],
            seen.begun.get(day, 0),
            seen.events_by_day.get(day, 0),
            tokens(used.get(day, Usage())),
            cost.get(day, 0),
        )
        for day in sorted({*days, *seen.begun, *seen.events_by_day, *used})
        if day >= days.start
    ]


def models_of(seen: StoreLook, prices: PriceList) -> list[ModelUse]:
    """The models that were used, the dearest first, then those with the most tokens."""
    used: dict[str, Usage] = {}
    cost: dict[str, int] = {}
    for row in seen.used:
        used[row.model] = both(used.get(row.model, Usage()), row.usage)
        cost[row.model] = cost.get(row.model, 0) + cost_of(row, prices)
    found = [
        ModelUse(model, tokens(usage), cost[model], prices.price_of(model) is not None or usage.cost_micros > 0)
        for model, usage in used.items()
    ]
    return sorted(found, key=lambda each: (-each.cost_micros, -each.tokens.input_tokens, each.model))


def cost_of(row: UsageRow, prices: PriceList) -> int:
    """What a model cost on a day: by the prices, else what was recorded with its usage."""
    price = prices.price_of(row.model)
    return row.usage.cost_micros if price is None else price.cost_micros(row.usage)


def last_backup(gateway: Gateway) -> LastBackupView:
    """The newest backup that is known: one that was made here, or the time of the timer's, by whichever gateway."""
    timer = next((each for each in gateway.timers if each.name == BACKUP), None)
    last, by_timer = gateway.last_backup, None if timer is None else timer.last_success
    if last is not None and (by_timer is None or by_timer <= last.at + SAME_MS):
        return LastBackupView(to_iso(last.at), str(last.path), True, last.damaged)
    return LastBackupView(None if by_timer is None else to_iso(by_timer), None, None if by_timer is None else True, 0)

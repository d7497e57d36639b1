"""`/metrics`: what a gateway counts, as Prometheus reads it.

Everything is counted elsewhere, plainly, and put into its form when somebody asks. The labels are bounded: templates
of routes, methods, classes of status, codes of errors, outcomes of turns, numbers of lanes, names of timers; never a
session or a tenant.
"""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.responses import Response

from holdfast.core import HoldfastError, errors
from holdfast.gateway.api.openapi import described
from holdfast.gateway.connections.unsent_output import HTTP
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.operations import traffic, turn_times
from holdfast.gateway.operations.traffic import SSE, WEBSOCKET

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

TEXT = "text/plain"
MEDIA = f"{TEXT}; version=0.0.4; charset=utf-8"
REFUSED = sorted(traffic.REFUSALS)
FAILURES = sorted(
    kind.code
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, HoldfastError) and kind.status >= 500
)


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve `/metrics`."""
    metrics = Metrics(gateway)

    @routes.get("/metrics", summary="Figures for Prometheus", **described({200: str}, media=TEXT))
    async def get_metrics() -> Response:
        return Response(await metrics.text(), headers={"content-type": MEDIA})


class Metrics:
    """The figures of one gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._registry: CollectorRegistry | None = None
        self._figures: dict[str, Any] | None = None

    async def text(self) -> bytes:
        """All figures of now; without those of a store that cannot be asked."""
        try:
            self._figures = await self._gateway.readiness.figures()
        except HoldfastError:
            self._figures = None
        return await asyncio.to_thread(self._written)

    def _written(self) -> bytes:
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

        if self._registry is None:
            self._registry = CollectorRegistry(auto_describe=False)
            self._registry.register(self)
            ProcessCollector(registry=self._registry)
        return generate_latest(self._registry)

    def collect(self) -> Iterator["Metric"]:
        """Every figure, as the registry wants them."""
        yield from self._of_itself()
        yield from self._of_requests()
        yield from self._of_turns()
        yield from self._of_output()
        yield from self._of_lanes()
        yield from self._of_storage()
        yield from self._of_timers()

    def _of_itself(self) -> Iterator["Metric"]:
        from prometheus_client.core import InfoMetricFamily

        gateway, engine = self._gateway, self._gateway.store.engine
        about = {
            "version": gateway.version,
            "engine": engine.name,
            "engine_version": engine.version,
            "schema": str(gateway.store.schema_version),
        }
        yield InfoMetricFamily("holdfast", "The gateway and its store's engine.", about)
        yield gauge("uptime_seconds", "Since the gateway started.", gateway.uptime)
        yield gauge("stopping", "1 while the gateway stops.", float(gateway.stopping.is_set()))
        yield gauge("draining", "1 from the beginning of a drain.", float(gateway.draining))
        dropped = 0 if gateway.log is None else gateway.log.dropped_in_all
        yield counter("log_lines_dropped", "Lines of the log that could not be written.", dropped)

    def _of_requests(self) -> Iterator["Metric"]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        counts = self._gateway.counts
        seconds = HistogramMetricFamily(
            "holdfast_request_seconds", "Time to answer a request.", labels=["method", "route", "status"]
        )
        for (method, route, status), found in sorted(counts.answered.items()):
            buckets = cumulative(traffic.BOUNDS, found.by_time)
            seconds.add_metric([method, route, f"{status}xx"], buckets, found.seconds)
        yield seconds
        refused = CounterMetricFamily("holdfast_refused", "Requests that were refused.", labels=["status"])
        for status in REFUSED:
            refused.add_metric([str(status)], counts.refused[status])
        yield refused
        yield gauge("requests_under_way", "Requests that are being answered.", counts.under_way)
        live = GaugeMetricFamily("holdfast_live_connections", "Connections that follow live.", labels=["kind"])
        for kind in (WEBSOCKET, SSE):
            live.add_metric([kind], counts.live[kind])
        yield live

    def _of_turns(self) -> Iterator["Metric"]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        seconds = HistogramMetricFamily(
            "holdfast_turn_seconds", "Time of a turn of the agent, from acceptance to rest.", labels=["outcome"]
        )
        for outcome, found in self._gateway.turn_times.by_outcome.items():
            seconds.add_metric([outcome], cumulative(turn_times.BOUNDS, found.by_time), found.seconds)
        yield seconds
        posts = CounterMetricFamily("holdfast_posts", "News of tasks, posted to where they go.", labels=["outcome"])
        posts.add_metric(["taken"], self._gateway.posts.taken)
        posts.add_metric(["given_up"], self._gateway.posts.given_up)
        yield posts

    def _of_output(self) -> Iterator["Metric"]:
        from prometheus_client.core import CounterMetricFamily

        unsent = self._gateway.unsent
        yield gauge("unsent_bytes", "Output that clients have yet to take.", unsent.size)
        yield gauge("unsent_limit_bytes", "How much of that there may be.", unsent.most_bytes)
        cuts = CounterMetricFamily(
            "holdfast_cut_connections", "Connections that were cut because they took too little.", labels=["kind"]
        )
        for kind in (HTTP, WEBSOCKET):
            cuts.add_metric([kind], unsent.cuts[kind])
        yield cuts

    def _of_lanes(self) -> Iterator["Metric"]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        store = self._gateway.store
        events = sum(lane.events for lane in store.lane_counts)
        yield counter("events_appended", "Events that this gateway has written.", events)
        waiting = GaugeMetricFamily("holdfast_writes_waiting", "Writes that wait for their lane.", labels=["lane"])
        writes = CounterMetricFamily("holdfast_writes", "Writes that were committed, in groups.", labels=["lane"])
        seconds = HistogramMetricFamily("holdfast_commit_seconds", "Time to commit a group of writes.", labels=["lane"])
        failures = dict.fromkeys(FAILURES, 0)
        for number, (queue, lane) in enumerate(zip(store.waiting_writes, store.lane_counts, strict=True)):
            label = [str(number)]
            waiting.add_metric(label, queue)
            writes.add_metric(label, lane.writes)
            seconds.add_metric(label, cumulative(lane.bounds, lane.commits_by_time), lane.seconds)
            for code, count in lane.failures.copy().items():
                failures[code] = failures.get(code, 0) + count
        yield from (waiting, writes, seconds)
        failed = CounterMetricFamily("holdfast_store_failures", "Writes that the store did not make.", labels=["code"])
        for code, count in sorted(failures.items()):
            failed.add_metric([code], count)
        yield failed

    def _of_storage(self) -> Iterator["Metric"]:
        store = self._gateway.store
        figures = self._figures
        yield gauge("store_up", "1 if the store could be asked.", float(figures is not None))
        yield gauge("store_failed", "1 if the store no longer takes writes.", float(store.failure is not None))
        yield gauge("feed_lag_seconds", "Since the live feed had read all there was.", store.feed_lag)
        for name, member, said in (
            ("db_bytes", "sizeBytes", "Size of the database."),
            ("db_free_bytes", "freeBytes", "Of that, what nothing uses (SQLite)."),
            ("wal_bytes", "walSizeBytes", "Size of the write-ahead log (SQLite)."),
            ("disk_free_bytes", "diskFreeBytes", "Free on the disk of the store's file, or of the data folder."),
            ("short_of_room", "shortOfRoom", "1 while only deletions are taken (SQLite)."),
            ("feed_held_seconds", "feedHeldSeconds", "How long an open transaction holds the feed (PostgreSQL)."),
        ):
            value = None if figures is None else figures.get(member)
            if value is not None:
                yield gauge(name, said, float(value))

    def _of_timers(self) -> Iterator["Metric"]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        every = GaugeMetricFamily("holdfast_timer_every_seconds", "How often it is to be done.", labels=["timer"])
        last = GaugeMetricFamily(
            "holdfast_timer_last_success_timestamp_seconds", "When it was last done.", labels=["timer"]
        )
        runs = CounterMetricFamily("holdfast_timer_runs", "Runs that this gateway began.", labels=["timer"])
        failures = CounterMetricFamily("holdfast_timer_failures", "Runs that failed.", labels=["timer"])
        for timer in self._gateway.timers:
            every.add_metric([timer.name], timer.every_ms / 1000)
            last.add_metric([timer.name], (timer.last_success or 0) / 1000)
            runs.add_metric([timer.name], timer.runs)
            failures.add_metric([timer.name], timer.failures)
        yield from (every, last, runs, failures)


def gauge(name: str, said: str, value: float) -> "Metric":
    """A figure that goes up and down."""
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(f"holdfast_{name}", said, value)


def counter(name: str, said: str, value: float) -> "Metric":
    """A figure that only grows."""
    from prometheus_client.core import CounterMetricFamily

    return CounterMetricFamily(f"holdfast_{name}", said, value)


def cumulative(bounds: tuple[float, ...], counts: list[int]) -> list[tuple[str, float]]:
    """The buckets of a histogram: each with all that is at most its bound."""
    total = 0
    found = []
    for bound, count in zip((*(str(each) for each in bounds), "+Inf"), tuple(counts), strict=True):
        total += count
        found.append((bound, float(total)))
    return found

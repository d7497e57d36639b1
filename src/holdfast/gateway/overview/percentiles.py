"""Percentiles from histograms: how long so many of a hundred took, as exactly as the bounds allow."""

from collections.abc import Iterable, Sequence

from holdfast.gateway.operations import traffic, turn_times
from holdfast.gateway.operations.traffic import Counts
from holdfast.gateway.operations.turn_times import TurnTimes
from holdfast.gateway.wire.overview import CodeCount, Percentiles, RouteTimes

MOST_ROUTES = 100
MOST_CODES = 50
FAILED = 5
"""The hundreds of a status that says that the gateway failed."""


def percentiles(bounds: Sequence[float], counts: Sequence[int]) -> Percentiles:
    """Those of a histogram in seconds; `counts` has one more than there are bounds."""
    return Percentiles(sum(counts), *(_at(share, bounds, counts) for share in (0.5, 0.95, 0.99)))


def route_times(counted: Counts) -> list[RouteTimes]:
    """The routes of a gateway, the busiest first."""
    times: dict[tuple[str, str], list[int]] = {}
    failures: dict[tuple[str, str], int] = {}
    for (method, route, hundreds), found in list(counted.answered.items()):
        kind = (method, route)
        times[kind] = _sum((times.get(kind, [0] * len(found.by_time)), found.by_time))
        failures[kind] = failures.get(kind, 0) + (sum(found.by_time) if hundreds == FAILED else 0)
    busiest = sorted(times, key=lambda kind: (-sum(times[kind]), kind))[:MOST_ROUTES]
    made = []
    for kind in busiest:
        took = percentiles(traffic.BOUNDS, times[kind])
        made.append(RouteTimes(*kind, took.count, failures[kind], took.p50_ms, took.p95_ms, took.p99_ms))
    return made


def turn_percentiles(times: TurnTimes) -> Percentiles:
    """Those of all turns, however they ended."""
    return percentiles(turn_times.BOUNDS, _sum(each.by_time for each in times.by_outcome.values()))


def failures_by_code(counted: Counts) -> list[CodeCount]:
    """The codes of problems, the most frequent first."""
    most = sorted(counted.codes.copy().items(), key=lambda each: (-each[1], each[0]))
    return [CodeCount(code, count) for code, count in most[:MOST_CODES]]


def _sum(histograms: Iterable[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip(*histograms, strict=True)]


def _at(share: float, bounds: Sequence[float], counts: Sequence[int]) -> float | None:
    """The time in ms within which this share was done, between two bounds in proportion; the last bound if more."""
    wanted, below, lower = share * sum(counts), 0.0, 0.0
    if not wanted:
        return None
    for bound, count in zip(bounds, counts, strict=False):
        if count and below + count >= wanted:
            return round(1000 * (lower + (bound - lower) * (wanted - below) / count), 3)
        below, lower = below + count, bound
    return 1000 * bounds[-1]

"""Nobody asks more often than they may: who does is told when to come back, and others notice nothing."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest
from tests.gateway.test_problems import check

from holdfast.gateway.access.authority import TokenHolders
from holdfast.gateway.access.scopes import Caller
from holdfast.gateway.app import create_app
from holdfast.gateway.connections.limits import TOKEN_RATE, ConnectionLimits
from holdfast.gateway.connections.rates import Rate, Rates, caller_key, network_of, too_many
from holdfast.gateway.gateway import Gateway
from holdfast.store import Store


class Clock:
    """A time that only goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_caller_has_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    rates = Rates(Rate(per_second=2, burst=5), clock)
    assert [rates.take("a") for _ in range(5)] == [None] * 5
    assert rates.take("a") == pytest.approx(0.5)
    assert rates.take("b") is None
    for _ in range(20):
        clock.now += 0.5
        assert rates.take("a") is None
        assert rates.take("a") is not None


def test_whoever_waits_as_long_as_they_are_told_is_served() -> None:
    clock = Clock()
    rates = Rates(Rate(per_second=3, burst=4), clock)
    served = 0
    for _ in range(100):
        wait = rates.take("a")
        served += wait is None
        clock.now += (wait or 0) + 1e-9
    assert served >= 50
    clock.now += 100
    assert [rates.take("a") for _ in range(4)] == [None] * 4
    assert rates.take("a") is not None


def test_what_is_refused_does_not_count() -> None:
    clock = Clock()
    rates = Rates(Rate(per_second=1, burst=1), clock)
    assert rates.take("a") is None
    assert all(rates.take("a") for _ in range(1_000))
    clock.now += 1
    assert rates.wait("a") is None
    assert rates.take("a") is None
    assert rates.wait("a") == pytest.approx(1)


def test_only_so_many_callers_are_remembered_and_the_busy_ones_are() -> None:
    clock = Clock()
    rates = Rates(Rate(per_second=0.1, burst=2), clock, most_callers=10)
    served = 0
    for number in range(1_000):
        rates.take(f"other {number}")
        served += rates.take("busy") is None
        clock.now += 0.2
    assert len(rates) == 10
    assert served <= 22


def test_retry_after_is_whole_seconds_and_at_least_one() -> None:
    for wait, seconds in ((0.001, 1), (1.0, 1), (1.2, 2), (59.1, 60)):
        assert too_many(wait).details["retry_after"] == seconds
        assert seconds >= math.ceil(wait)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("testclient", "testclient"),
    ],
)
def test_a_network_is_one_caller(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_caller_is_its_token_wherever_it_is() -> None:
    caller = Caller("ci", "default", frozenset(), token_id="t1")
    assert caller_key({"client": ("192.0.2.7", 1), "holdfast.caller": caller}) == "t1"
    assert caller_key({"client": ("192.0.2.7", 1), "holdfast.caller": Caller("x", "y", frozenset())}) == "192.0.2.7"
    assert caller_key({"client": ("192.0.2.7", 1)}) == "192.0.2.7"
    assert caller_key({"client": None}) == ""


def test_the_rate_is_none_without_tokens_and_enough_with_them() -> None:
    assert ConnectionLimits().requests(tokens=False) is None
    assert ConnectionLimits().requests(tokens=True) == Rate(TOKEN_RATE, 1_000)
    assert ConnectionLimits(rate=0).requests(tokens=True) is None
    assert ConnectionLimits(rate=0.1).requests(tokens=False) == Rate(0.1, 1)


@asynccontextmanager
async def caller_at(store: Store, *addresses: str) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """Clients at these addresses, of one gateway that allows two requests at once, and one in ten seconds."""
    app = create_app(store, limits=ConnectionLimits(rate=0.1))
    made = [
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app, client=(address, 1)), base_url="http://localhost", trust_env=False
        )
        for address in addresses
    ]
    yield made
    for each in made:
        await each.aclose()


async def test_too_many_requests_are_refused_before_their_bodies_are_read(store: Store) -> None:
    taken = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal taken
        taken += 1
        yield b'{"type":"x"}'

    async with caller_at(store, "192.0.2.1", "192.0.2.2") as (busy, other):
        assert (await busy.post("/api/actions/s", content=body())).status_code == 201
        refused = await busy.post("/api/actions/s", content=body())
        assert (refused.status_code, check(refused)["code"]) == (429, "too_many_requests")
        assert 1 <= int(refused.headers["retry-after"]) <= 10
        assert refused.headers["x-content-type-options"] == "nosniff"
        assert taken == 1
        assert (await other.get("/api/sessions/s")).status_code == 200


async def test_another_machine_that_keeps_sending_wrong_tokens_is_told_to_wait(store: Store) -> None:
    app = create_app(store, gateway=Gateway(store, authority=TokenHolders(store, {"own": "right" * 8})))

    async def asked(address: str, token: str | None) -> httpx2.Response:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        transport = httpx2.ASGITransport(app, client=(address, 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/api/sessions", headers=headers)

    statuses = [(await asked("192.0.2.7", "wrong")).status_code for _ in range(30)]
    assert statuses[:20] == [401] * 20
    refused = await asked("192.0.2.7", "wrong")
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (
        429,
        "too_many_requests",
        "1",
    )
    assert (await asked("192.0.2.7", "right" * 8)).status_code == 200
    assert (await asked("192.0.2.7", None)).status_code == 401
    assert (await asked("192.0.2.8", "wrong")).status_code == 401
    assert [(await asked("127.0.0.1", "wrong")).status_code for _ in range(30)] == [401] * 30


def test_the_first_request_of_a_burst_of_one_is_let_through_at_any_time_since_the_machines_start() -> None:
    for number in range(1_000):
        started = 0.1 * number
        assert Rates(Rate(0.001, 1), clock=partial(float, started)).take("caller") is None, started

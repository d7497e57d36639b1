"""A hostile tenant: what one caller can do to slow down the others, for as long as it is let.

An attack is prepared once and then carried on. It meets limits, and takes them: what is too large is tried smaller, and
a refusal is an answer like any other. `python -m tests.support.attacks ORDER`, the order as JSON, prepares, says
`ready` on stdout, attacks for so many seconds, and then says which answers it got.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass

import httpx2
from tests.support.deaf import begin, deaf
from tests.support.web import web_client

MB = 1024 * 1024
LARGE = 15 * MB
LARGE_EVENTS = 20
SEARCHES = 60
EVENTS = 100_000
BATCH = 1_000
PATCHING = 6
SESSIONS = 40
FOLLOWERS = 100
MEMBERS = 750_000
MEMBERS_OF_A_STATE = 52_000
VALUES = 16_000
LINES = 16
"""Of a batch that is looked at here, and not by another process: as many values as go into it."""
SIZES = (15 * MB, 4 * MB, 1_000_000, 60_000, 10_000)
"""Of a document, the largest first."""
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Order:
    """What to do to which gateway, with which token."""

    url: str
    token: str
    attacks: Sequence[str]
    """Those to choose from, again and again."""
    seconds: float
    seed: int = 0


class Target:
    """A gateway as the attacker sees it."""

    def __init__(self, order: Order) -> None:
        self.url = order.url
        self.token = order.token
        self.statuses: Counter[int] = Counter()
        """Of all answers; 0 is none at all."""

    def call(self, method: str, path: str, value: object = None, **headers: str) -> int:
        """Ask on a connection of its own, take the answer and throw it away; its status."""
        return self.send(method, path, None if value is None else json.dumps(value).encode(), **headers)

    def send(self, method: str, path: str, content: bytes | None, **headers: str) -> int:
        """The same with a body as it is."""
        headers |= {"Authorization": f"Bearer {self.token}"}
        status = 0
        try:
            with (
                web_client(base_url=self.url, timeout=PATIENCE) as client,
                client.stream(method, path, content=content, headers=headers) as answer,
            ):
                status = answer.status_code
                for _ in answer.iter_raw():
                    pass
        except httpx2.TransportError:
            pass
        self.statuses[status] += 1
        return status

    def at_once(self, number: int, end: float, act: Callable[[], object]) -> None:
        """Have so many threads act, each again and again until the end."""

        def go_on() -> None:
            while time.monotonic() < end:
                act()

        threads = [threading.Thread(target=go_on) for _ in range(number)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


@dataclass(frozen=True, slots=True)
class Attack:
    """What is needed beforehand, and what is done until a time, or once."""

    prepare: Callable[[Target], object]
    go_on: Callable[[Target, float], object]


def large_events(target: Target) -> None:
    """A session of a few large events; every attack that needs it makes it sure."""
    for number in range(LARGE_EVENTS):
        action = {"type": "large", "details": {"text": "needle " * (LARGE // 7)}, "eventId": f"large-{number}"}
        target.call("POST", "/api/actions/large", action)


def search(target: Target, end: float) -> None:
    """Searches that are abandoned."""
    with ExitStack() as stack:
        for number in range(SEARCHES):
            path = f"/api/query/search?q=needle&limit={100 + number}"
            stack.enter_context(deaf(target.url, path, target.token))
        time.sleep(0.1)
    time.sleep(max(0.0, min(1.0, end - time.monotonic())))


def long_session(target: Target) -> None:
    """A session of many events, and a keyed change of its state."""
    for first in range(0, EVENTS, BATCH):
        batch = [{"type": "n", "details": {"n": n}, "eventId": f"n{n}"} for n in range(first, first + BATCH)]
        target.call("POST", "/api/actions/long/batch", batch)
    retry(target)


def retry(target: Target) -> None:
    """The same keyed change of a state, again."""
    target.call("PATCH", "/api/state/long", {"phase": "begun"}, **{"Idempotency-Key": "once"})


def large_state(target: Target) -> None:
    """A state as large as is taken, up to ten of the largest members."""
    size: int | None = SIZES[0]
    for number in range(10):
        name = f"m{number}"
        size = size and _largest(size, lambda size, name=name: target.call("PATCH", "/api/state/s", {name: "x" * size}))  # type: ignore[misc]


def patch(target: Target) -> None:
    """A small change of a large state."""
    target.call("PATCH", "/api/state/s", {"n": random.random()})


def patch_members(target: Target) -> None:
    """A change of a state as large as is taken, of as many members as go into it."""
    state = {"workspace": {f"k{n}": n for n in range(MEMBERS_OF_A_STATE)}}
    target.call("PATCH", f"/api/state/members-{random.randrange(PATCHING)}", state)


def large_key(target: Target) -> None:
    """An event of many members under a key."""
    _send_spelt(target, ", ")


def spell(target: Target) -> None:
    """The same event under the same key, written otherwise."""
    _send_spelt(target, ",")


def _send_spelt(target: Target, comma: str) -> None:
    body = json.dumps({"type": "large", "details": {f"k{n}": n for n in range(MEMBERS)}}, separators=(comma, ":"))
    target.send("POST", "/api/actions/spelt", body.encode(), **{"Idempotency-Key": "spelt"})


def large_metadata(target: Target) -> None:
    """Sessions with metadata as large as is taken."""

    def described(number: int, size: int) -> int:
        about = {"sessionId": f"described-{number}", "metadata": {"text": "x" * size}}
        return target.call("POST", "/api/sessions", about)

    size: int | None = SIZES[0]
    for number in range(SESSIONS):
        size = size and _largest(size, lambda size, number=number: described(number, size))  # type: ignore[misc]


def list_sessions(target: Target) -> None:
    """Every session."""
    target.call("GET", "/api/sessions?limit=200")


def follow(path: str) -> Callable[[Target, float], None]:
    """Followers that take nothing, and two large events for them."""

    def attack(target: Target, end: float) -> None:
        with ExitStack() as stack:
            for _ in range(FOLLOWERS):
                follower = stack.enter_context(deaf(target.url, path, target.token))
                begin(follower)
            for _ in range(2):
                target.call("POST", "/api/actions/followed", {"type": "large", "details": {"text": "x" * LARGE}})
            time.sleep(max(0.0, min(3.0, end - time.monotonic())))

    return attack


def first_event(target: Target) -> None:
    """A session to follow."""
    target.call("POST", "/api/actions/followed", {"type": "first"})


def ask(target: Target, end: float) -> None:
    """Answers and exports that nobody reads."""
    paths = ("/api/actions/large?limit=1", "/api/sessions/large/log", "/api/export?session=large")
    with ExitStack() as stack:
        for number in range(FOLLOWERS):
            stack.enter_context(deaf(target.url, paths[number % 3], target.token))
        time.sleep(max(0.0, min(3.0, end - time.monotonic())))


def send_members(target: Target) -> None:
    """A body as large as is taken, of as many members as go into it."""
    target.call("POST", "/api/actions/members", {"type": "large", "details": {f"k{n}": n for n in range(MEMBERS)}})


def send_batch(target: Target) -> None:
    """A batch of a megabyte, whose lines are many values each."""
    line = json.dumps({"type": "large", "details": [1.5] * VALUES}, separators=(",", ":"))
    target.send("POST", "/api/actions/batches/batch", "\n".join([line] * LINES).encode())


def _largest(most: int, attempt: Callable[[int], int]) -> int | None:
    """Try the sizes, none above the most, until one is taken; that one."""
    return next((size for size in SIZES if size <= most and attempt(size) in {200, 201}), None)


def _together(number: int, act: Callable[[Target], None]) -> Callable[[Target, float], None]:
    return lambda target, end: target.at_once(number, end, lambda: act(target))


ATTACKS: dict[str, Attack] = {
    "searches": Attack(large_events, search),
    "retries": Attack(long_session, _together(4, retry)),
    "states": Attack(large_state, _together(PATCHING, patch)),
    "members": Attack(lambda _: None, _together(PATCHING, patch_members)),
    "spellings": Attack(large_key, _together(4, spell)),
    "followers-ws": Attack(first_event, follow("/ws?session=followed")),
    "followers-sse": Attack(first_event, follow("/api/feed?session=followed")),
    "answers": Attack(large_events, ask),
    "bodies": Attack(lambda _: None, _together(2, send_members)),
    "batches": Attack(lambda _: None, _together(4, send_batch)),
    "lists": Attack(large_metadata, _together(4, list_sessions)),
}


@contextmanager
def attacking(order: Order) -> Iterator["subprocess.Popen[str]"]:
    """The attack as a process of its own, which has prepared all it needs."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.attacks", json.dumps(asdict(order))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready", "the attack could not be prepared"
            yield process
        finally:
            process.kill()


def start(process: "subprocess.Popen[str]") -> None:
    """Let a prepared attack begin."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def statuses(process: "subprocess.Popen[str]") -> dict[str, int]:
    """Which answers an attack got, once it has ended."""
    assert process.stdout is not None
    found: dict[str, int] = json.loads(process.stdout.readline())
    return found


def main(order: Order) -> None:
    """Be that process."""
    target, chance = Target(order), random.Random(order.seed)
    for prepare in dict.fromkeys(ATTACKS[name].prepare for name in order.attacks):
        prepare(target)
    target.statuses.clear()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    end = time.monotonic() + order.seconds
    while (now := time.monotonic()) < end:
        chosen = chance.choice(order.attacks)
        ATTACKS[chosen].go_on(target, min(end, now + chance.uniform(2, 6)))
    sys.stdout.write(json.dumps(target.statuses) + "\n")


if __name__ == "__main__":
    main(Order(**json.loads(sys.argv[1])))

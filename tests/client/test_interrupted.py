"""An exception between any two statements, and a call from a handler: nothing that was taken is lost or left behind."""

import itertools
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.client.interrupting import Interrupt, at_line, interrupt
from tests.client.looking import numbers, spools
from tests.gateway.process import Running

from holdfast.client import EntriesRefused, HookAgentBlocking
from holdfast.core.errors import HoldfastError


class Account:
    """What a program was told: calls that returned, and calls that were interrupted."""

    def __init__(self, url: str, session_id: str) -> None:
        self._url = url
        self._session_id = session_id
        self.returned: list[int] = []
        self.interrupted: set[int] = set()

    def log(self, agent: HookAgentBlocking, n: int) -> None:
        self.interrupted.add(n)
        agent.log_action("step", {"n": n})
        self.returned.append(n)
        self.interrupted.discard(n)

    def check(self) -> None:
        """All that returned is there once, in order; what was interrupted at most once."""
        found = numbers(self._url, self._session_id)
        assert [n for n in found if n not in self.interrupted] == self.returned
        assert len(found) == len(set(found))


def each_line(run: Callable[[int], bool]) -> int:
    """Run with 1, 2, … until there are no more lines; how many there were."""
    for n in itertools.count(1):
        if not run(n):
            return n - 1
    raise AssertionError


def test_a_call_that_is_interrupted_at_any_line_harms_no_other(gateway: Running) -> None:
    account = Account(gateway.url, "any-line")
    with HookAgentBlocking("any-line", url=gateway.url) as agent:
        agent.log_action("step", {"n": -1})
        account.returned.append(-1)

        def run(line: int) -> bool:
            with at_line(line, interrupt) as lines, suppress(Interrupt):
                account.log(agent, 2 * line)
            account.log(agent, 2 * line + 1)
            return lines.done

        assert each_line(run) > 20
        agent.flush(20)
        account.check()
        assert agent.spooled == 0


def test_a_flush_that_is_interrupted_at_any_line_leaves_the_next_one_right(gateway: Running) -> None:
    account = Account(gateway.url, "any-flush")
    with HookAgentBlocking("any-flush", url=gateway.url) as agent:

        def run(line: int) -> bool:
            account.log(agent, line)
            with at_line(line, interrupt) as lines, suppress(Interrupt):
                agent.flush(20)
                account.check()
            agent.flush(20)
            account.check()
            return lines.done

        assert each_line(run) > 10


def test_the_first_call_may_be_interrupted_at_any_line(gateway: Running, tmp_path: Path) -> None:
    """It makes the spool and begins the delivery; the next call goes on with whatever of that is done."""

    def run(line: int) -> bool:
        account = Account(gateway.url, f"first-{line}")
        agent = HookAgentBlocking(f"first-{line}", url=gateway.url, spool=tmp_path / str(line))
        with at_line(line, interrupt) as lines, suppress(Interrupt):
            account.log(agent, 0)
        account.log(agent, 1)
        if line % 2:
            agent.flush(20)
            account.check()
        agent.close(20)
        account.check()
        left.append(len(spools(tmp_path / str(line))))
        return lines.done

    left: list[int] = []
    assert each_line(run) > 40
    assert sum(left) <= 5, "what an interrupted call had made is thrown away, but where it was just about to be"


def test_a_close_that_is_interrupted_at_any_line_can_be_called_again(gateway: Running) -> None:
    def run(line: int) -> bool:
        account = Account(gateway.url, f"close-{line}")
        agent = HookAgentBlocking(f"close-{line}", url=gateway.url)
        for n in range(3):
            account.log(agent, n)
        with at_line(line, interrupt) as lines, suppress(Interrupt):
            agent.close(20)
        agent.close(20)
        account.check()
        return lines.done

    assert each_line(run) > 5


def test_a_refusal_is_told_although_a_flush_was_interrupted(gateway: Running) -> None:
    with HookAgentBlocking("told", url=gateway.url) as agent:

        def run(line: int) -> bool:
            agent.update_goal("no-such-goal", "completed")
            told = 0
            with at_line(line, interrupt) as lines:
                try:
                    agent.flush(20)
                except EntriesRefused:
                    told += 1
                except Interrupt as raised:
                    told += isinstance(raised.__context__, EntriesRefused)
            try:
                agent.flush(20)
            except EntriesRefused:
                told += 1
            assert told >= 1, lines.where
            return lines.done

        assert each_line(run) > 10


@pytest.mark.parametrize("outer", ["log", "flush", "first", "close"])
def test_a_handler_may_call_it_wherever_it_interrupts(gateway: Running, outer: str) -> None:
    def run(line: int) -> bool:
        name = f"handler-{outer}-{line}"
        account = Account(gateway.url, name)
        agent = HookAgentBlocking(name, url=gateway.url)
        if outer != "first":
            account.log(agent, 0)

        def handle() -> None:
            try:
                agent.log_action("step", {"n": 1})
                account.returned.append(1)
                began = time.monotonic()
                agent.flush(20)
                assert time.monotonic() - began < 15
            except HoldfastError as error:
                assert outer == "close" and error.code in {"agent_closed", "not_delivered"}, error

        with at_line(line, handle) as lines:
            if outer in {"log", "first"}:
                account.log(agent, 2)
            elif outer == "flush":
                agent.flush(20)
            else:
                agent.close(20)
        account.returned.sort()
        agent.close(20)
        found = numbers(gateway.url, name)
        assert sorted(found) == account.returned
        return lines.done

    assert each_line(run) > 5


def test_a_handler_may_close_it_wherever_it_interrupts(gateway: Running) -> None:
    def run(line: int) -> bool:
        name = f"closed-in-{line}"
        agent = HookAgentBlocking(name, url=gateway.url)
        agent.log_action("step", {"n": 0})

        def handle() -> None:
            began = time.monotonic()
            agent.close(20)
            assert time.monotonic() - began < 15

        returned = [0]
        with at_line(line, handle) as lines:
            try:
                agent.log_action("step", {"n": 1})
                returned.append(1)
            except HoldfastError as error:
                assert error.code == "agent_closed"
        agent.close(20)
        with HookAgentBlocking(name, url=gateway.url) as heir:  # of what the interrupted call has left
            heir.flush(20)
        assert set(returned) <= set(numbers(gateway.url, name))
        return lines.done

    assert each_line(run) > 5


@pytest.mark.parametrize("seconds", [1, pytest.param(20, marks=pytest.mark.long(seconds=20))])
def test_time_limits_that_strike_at_random_lose_nothing(gateway: Running, seconds: int) -> None:
    """Real signals, as a soft time limit raises them, in the thread that logs, flushes and begins again."""
    session = f"limits-{seconds}"
    account = Account(gateway.url, session)
    struck = 0

    def strike(_number: int, _frame: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, strike)
    try:
        with HookAgentBlocking(session, url=gateway.url) as agent:
            deadline = time.monotonic() + seconds
            count = itertools.count()
            while time.monotonic() < deadline:
                n = next(count)
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.00002 * (1 + n % 40))
                    account.log(agent, n)
                    if n % 10 == 0:
                        agent.flush(20)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Interrupt:
                    struck += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            agent.flush(20)
            account.check()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert struck > 50
    assert len(account.returned) > 50

"""The account of what clients have not taken: what counts, what counts once, and who has to go for others."""

from dataclasses import dataclass, field

import pytest

from holdfast.core.errors import Busy
from holdfast.gateway.connections.unsent_output import HTTP, ConnectionOutput, UnsentOutput
from holdfast.gateway.errors import TooSlow


@dataclass
class Connection:
    """A connection that is told to end."""

    kind: str = HTTP
    client: tuple[str, int] | None = None
    reasons: list[TooSlow] = field(default_factory=list)

    def cut(self, reason: TooSlow) -> None:
        self.reasons.append(reason)

    def abort(self) -> None:
        raise AssertionError


def account(now: list[float]) -> UnsentOutput:
    """One of a hundred bytes, by a clock that the test sets."""
    return UnsentOutput(100, pace=10, behind_seconds=2, clock=lambda: now[0])


def test_the_same_bytes_for_many_count_once_and_need_no_more_room() -> None:
    unsent = account([0.0])
    body = b"x" * 60
    first, second = (ConnectionOutput(unsent, Connection()) for _ in range(2))
    unsent.make_room(body)
    unsent.hold(first, body)
    unsent.make_room(body)
    unsent.hold(second, body)
    assert unsent.size == 60
    with pytest.raises(Busy) as refusal:
        unsent.make_room(b"y" * 60)
    assert refusal.value.details["retry_after"] == 1
    unsent.release(first)
    assert unsent.size == 60
    unsent.release(second)
    assert unsent.size == 0


def test_what_waits_in_a_connections_buffer_counts() -> None:
    unsent = account([0.0])
    output = ConnectionOutput(unsent, Connection())
    for buffered in (50, 70):
        unsent.pause(output, buffered)
        assert unsent.size == buffered
    with pytest.raises(Busy):
        unsent.make_room(40)
    unsent.resume(output)
    assert unsent.size == 0
    unsent.make_room(40)


def test_who_is_furthest_behind_is_cut_and_only_as_many_as_it_takes() -> None:
    now = [0.0]
    unsent = account(now)
    connections = [Connection() for _ in range(3)]
    outputs = [ConnectionOutput(unsent, each) for each in connections]
    for output, body in zip(outputs, (b"a" * 30, b"b" * 30, b"c" * 30), strict=True):
        unsent.hold(output, body)
        now[0] += 1
    unsent.took(outputs[0], 40)
    unsent.make_room(40)
    assert [len(each.reasons) for each in connections] == [0, 1, 0]
    assert (unsent.size, unsent.cuts[HTTP]) == (60, 1)

"""What a performance makes of a target that hangs, dies or is not the one that answers."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from tests.prove.explore.test_explore_sender import ScriptedWire, rpc_error, task

from holdfast.core import TaskState
from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import (
    Cancel,
    Chat,
    Follow,
    Kill,
    KillStart,
    LookUp,
    Operation,
    SendFile,
    Tell,
)
from holdfast.prove.explore.performer import PerformanceFault, Performer
from holdfast.prove.explore.power import TargetPower
from holdfast.prove.explore.record import (
    NotOffered,
    OwnEnd,
    Record,
    RecordedDelivery,
    Seen,
    StreamSeen,
    TaskSeen,
    UploadRefused,
)
from holdfast.prove.explore.sender import Sender
from holdfast.prove.targets.target import PortOccupied, Target
from holdfast.prove.wire.client import HttpAnswer, NoAnswerInTime, TransportFault

TOLD = Tell(message=1, context=0, fact=0, value=1)
BROKEN = TransportFault("the connection broke")
COMPLETED = task("COMPLETED", "Noted.")
STREAMING = HttpAnswer(200, b'{"capabilities": {"streaming": true}}')


class Process:
    """A target of which only the process matters: it runs until it is said to have ended."""

    name, url, pid, workspace, restartable = "process", "http://127.0.0.1:1", 1, None, True

    def __init__(self, *, alive: bool = True, looks: int = 1000) -> None:
        self._alive = alive
        self._looks = looks

    @property
    def running(self) -> bool:
        """It is seen running so many times."""
        self._looks -= 1
        return self._looks >= 0

    async def ended(self, within: float) -> bool:
        return not self._alive

    async def kill(self) -> None:
        raise PortOccupied("port 1 still answers")

    def logs(self) -> list[Path]:
        return []


def record_of(
    *operations: Operation,
    says: list[HttpAnswer | Exception],
    target: Process | None = None,
    card: HttpAnswer | None = None,
) -> Record:
    process = target or Process()
    cards: list[HttpAnswer | Exception] = [card] if card else [BROKEN, BROKEN]
    sender = Sender(ScriptedWire([*cards, *says]), timeout=5.0, recovery=5.0, new_hex=lambda: "0")
    course = Course(seed=1, number=0, operations=(TOLD, *operations))
    performer = Performer(course, cast(Target, process), sender, tag="tag", new_hex=lambda: "0")
    asyncio.run(performer.perform())
    return performer.record


@pytest.mark.parametrize("about", [LookUp, Cancel, Follow])
def test_a_connection_that_breaks_by_itself_is_a_fault(about: Callable[..., Operation]) -> None:
    with pytest.raises(PerformanceFault, match="a connection broke"):
        record_of(about(message=1), says=[COMPLETED, BROKEN])


@pytest.mark.parametrize("about", [LookUp, Cancel, Follow])
def test_a_target_that_dies_of_a_question_for_a_task_has_ended_by_itself(about: Callable[..., Operation]) -> None:
    record = record_of(about(message=1), says=[COMPLETED, BROKEN], target=Process(alive=False))
    assert [type(seen) for seen in record.seen[1:]] == [OwnEnd]


@pytest.mark.parametrize("about", [LookUp, Cancel])
def test_a_question_for_a_task_that_hangs_is_seen(about: Callable[..., Operation]) -> None:
    record = record_of(about(message=1), says=[COMPLETED, NoAnswerInTime("nothing came")])
    [look] = [seen for seen in record.seen if isinstance(seen, TaskSeen)]
    assert look.silent


def test_a_task_that_cannot_be_looked_up_while_its_end_is_waited_for_is_seen() -> None:
    told = Tell(message=2, context=0, fact=0, value=2, how="at once")
    record = record_of(told, says=[COMPLETED, task("WORKING"), rpc_error(-32603)])
    [look] = [seen for seen in record.seen if isinstance(seen, TaskSeen)]
    assert (look.message, look.task) == (2, "t")
    assert "-32603" in look.error


def test_after_a_task_could_not_be_followed_one_looks_whether_it_runs() -> None:
    record = record_of(Follow(message=1), says=[COMPLETED, rpc_error(-32004), task("WORKING")], card=STREAMING)
    stream, look = record.seen[1:]
    assert isinstance(stream, StreamSeen)
    assert "-32004" in stream.error
    assert isinstance(look, TaskSeen)
    assert (look.state, look.waited) == (TaskState.WORKING, False)


@pytest.mark.parametrize("streamed", [Follow(message=1), Tell(message=2, context=0, fact=0, value=2, how="stream")])
def test_what_is_not_streamed_because_the_card_does_not_offer_it_is_recorded(streamed: Operation) -> None:
    record = record_of(streamed, says=[COMPLETED], card=HttpAnswer(200, b"{}"))
    assert [seen.what for seen in record.seen if isinstance(seen, NotOffered)] == ["streams"]


@pytest.mark.parametrize(("status", "seen_as"), [(404, NotOffered), (500, UploadRefused)])
def test_a_file_that_cannot_be_uploaded_is_sent_by_its_bytes_and_that_is_recorded(
    status: int, seen_as: type[Seen]
) -> None:
    file = SendFile(message=2, context=0, file=1, value=2, by="reference")
    record = record_of(file, says=[COMPLETED, HttpAnswer(status, b"no"), COMPLETED])
    assert [type(seen) for seen in record.seen] == [RecordedDelivery, seen_as, RecordedDelivery]


def test_a_target_that_ends_after_its_last_answer_is_seen() -> None:
    record = record_of(says=[COMPLETED], target=Process(looks=1))
    assert [type(seen) for seen in record.seen] == [RecordedDelivery, OwnEnd]


def test_conversations_apart_name_no_context_and_are_as_many_as_is_said() -> None:
    wire = ScriptedWire([BROKEN, BROKEN, COMPLETED, COMPLETED, COMPLETED])
    sender = Sender(wire, timeout=5.0, recovery=5.0, new_hex=lambda: "0")
    operations = (TOLD, Chat(message=2, context=0, turns=2, apart=True))
    course = Course(seed=1, number=0, operations=operations)
    performer = Performer(course, cast(Target, Process()), sender, tag="tag", new_hex=lambda: "0")
    asyncio.run(performer.perform())
    assert [message["params"]["message"].get("contextId") for message in wire.said] == ["explore-tag-a", None, None]


class Startable(Process):
    """A target whose starts take so many seconds, one after the other."""

    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self._seconds = iter(seconds)

    async def start(self) -> None:
        await asyncio.sleep(next(self._seconds))

    async def kill(self) -> None:
        pass


def test_a_start_is_killed_at_a_part_of_the_time_that_starts_take() -> None:
    power = TargetPower(cast(Target, Startable(0.8, 3600.0, 0.0)))
    noted: list[tuple[str, float]] = []

    async def scenario() -> None:
        await power.start()
        restart = power.restart(KillStart(percent=25), lambda what, **_: noted.append((what, time.monotonic())))
        assert await restart == ""

    asyncio.run(scenario())
    assert [what for what, _ in noted] == ["kill", "start", "kill", "start", "ready"]
    (_, began), (_, cut) = noted[1:3]
    assert 0.2 <= cut - began < 3600.0


async def test_nothing_goes_on_after_a_fault() -> None:
    """A kill that comes later would start the target again, when its folder is gone and nobody ends it."""
    sender = Sender(ScriptedWire([BROKEN, BROKEN, COMPLETED]), timeout=5.0, recovery=5.0, new_hex=lambda: "0")
    operations = (TOLD, Kill(), Kill(after=60_000, joins=True))
    course = Course(seed=1, number=0, operations=operations)
    performer = Performer(course, cast(Target, Process()), sender, tag="tag", new_hex=lambda: "0")
    with pytest.raises(PerformanceFault, match="still answers"):
        await performer.perform()
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_port_that_another_process_holds_is_a_fault() -> None:
    with pytest.raises(PerformanceFault, match="still answers"):
        record_of(Kill(), says=[COMPLETED])

"""A conversation whose process is killed at a chosen step of its writes, and what must be there then.

A script of operations is run by a child. Every call by which the child changes a file is a step: instead of the chosen
one, the child kills itself; if that one writes bytes, it may have written half of them. What the child was told after
each operation is in a journal. A reader looks at the live file all the while.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.runtime.conversation.places import Place, assistant, entry, ledger, snapshot, user

from holdfast.core.errors import EffectUnresolved
from holdfast.runtime import ConversationSession

SESSION = "20260101T000000Z-0a1b2c3d"
LIMITS = {"rotate_after_bytes": 2_000, "max_rotated_files": 2, "auto_compaction_input_tokens_threshold": 200}
STEPS = ("open", "write", "pwrite", "fsync", "ftruncate", "replace", "rename", "link", "unlink", "mkdir")
FILLER = "Say " + "something of no importance " * 8

Operation = Callable[[ConversationSession, Path], object]


def _tool(session: ConversationSession, outside: Path) -> None:
    """A tool with an effect, recorded around; one whose end is not known is not run again."""
    try:
        run = session.start_effect("call", "append", {"line": "x"}, "x").run
    except EffectUnresolved:
        session.finish_effect("call", "failed", "nobody knows")
        return
    if run:
        with outside.open("a") as file:
            file.write("x\n")
        session.finish_effect("call", "finished", "appended")


OPERATIONS: tuple[Operation, ...] = (
    lambda session, _: session.append(user("My name is Ada.")),
    lambda session, _: session.extend([assistant("Hello."), *(user(FILLER) for _ in range(4))]),
    lambda session, _: session.update_runtime_state(current_task="go", workflow_mode="plan"),
    _tool,
    lambda session, _: session.append_workflow_timeline_entry(entry()),
    lambda session, _: session.maybe_compact(),
    lambda session, _: session.append_prompt_snapshot(snapshot("told " * 300)),
    lambda session, _: session.update_workflow_ledger(ledger()),
    lambda session, _: session.record_turn_usage({"prompt_tokens": 3}),
    lambda session, _: session.extend([user(FILLER) for _ in range(4)]),
    lambda session, _: session.maybe_compact(),
    lambda session, _: session.append(assistant("Bye.")),
    lambda session, _: session.take_back(1),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A conversation as a test compares it."""

    messages: list[Any]
    history: list[Any]
    taken_back: list[Any]
    fields: dict[str, Any]


def seen(session: ConversationSession | None) -> Seen | None:
    """What there is of a conversation."""
    if session is None:
        return None
    own = dict.fromkeys(("session_id", "created_at", "updated_at"))
    summed_up, taken_back = session.history(taken_back=False), session.history(taken_back=True)
    return Seen(list(session.messages), summed_up, taken_back, session._document() | own)


def expected(place: Place) -> list[Seen | None]:
    """The conversation before the first operation and after each, where nobody is killed."""
    session = place.new(**LIMITS)
    states: list[Seen | None] = [None]
    for operation in OPERATIONS:
        operation(session, place.root / "outside")
        states.append(seen(session))
    return states


def run(place: Place, journal: int, session_id: str = SESSION) -> None:
    """Do all the operations, and note each that was acknowledged."""
    write = os.write
    session = place.new(session_id=session_id, **LIMITS)
    for operation in OPERATIONS:
        operation(session, place.root / "outside")
        write(journal, b".")


def die_at(step: int, *, torn: bool, told: Callable[[str], None] = lambda _: None) -> None:
    """From here on, kill this process instead of its step of this number; with `torn`, after half of what it writes."""
    left = [step]

    def mortal(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if name == "open" and not args[1] & os.O_CREAT:
                return real(*args, **options)
            told(name)
            if not left[0]:
                if torn and name == "write":
                    real(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return real(*args, **options)

        return call

    for name in STEPS:
        setattr(os, name, mortal(name, getattr(os, name)))


def steps_of(root: Path) -> int:
    """How many steps the whole script has: counted by a process that lives."""
    reading, writing = os.pipe()

    def child() -> None:
        count = [0]
        journal = os.open(os.devnull, os.O_WRONLY)
        write = os.write

        def tell(_: str) -> None:
            count[0] += 1

        die_at(10**9, torn=False, told=tell)
        run(Place(root), journal)
        write(writing, str(count[0]).encode())

    _waited(_forked(child))
    os.close(writing)
    return int(os.read(reading, 100))


def problems(root: Path, states: list[Seen | None], step: int, *, torn: bool) -> list[str]:
    """Kill a process at a step, then look: what is wrong with what is there, and with going on from it."""
    root.mkdir()
    place = Place(root)
    reading, writing = os.pipe()
    stop, go_on = os.pipe()
    live = root / ".holdfast" / "sessions" / f"{SESSION}.json"
    reader = _forked(lambda: _read_on(live, stop), close=(go_on,))

    def child() -> None:
        die_at(step, torn=torn)
        run(place, writing)

    _waited(_forked(child))
    os.close(writing)
    os.close(go_on)
    os.close(stop)
    done = len(os.read(reading, 1000))
    os.close(reading)
    found = [] if not _waited(reader) else ["a reader found no readable file where there had been one"]
    found += wrong_after(place, states, done)
    return [f"step {step}{' torn' if torn else ''}: {each}" for each in found]


def wrong_after(place: Place, states: list[Seen | None], done: int, session_id: str = SESSION) -> list[str]:
    """What is wrong with what a process has left that was told of so many operations, and with going on from it."""
    session = place.load(session_id)
    now = seen(session)
    found: list[str] = []
    allowed = states[done : done + 2]
    if now not in allowed:
        found.append(f"after {done} operations: {now}")
    outside = place.root / "outside"
    ran = outside.read_text().count("x") if outside.exists() else 0
    again = session or place.new(session_id=session_id, **LIMITS)
    for operation in OPERATIONS[states.index(now) if now in states else done :]:
        operation(again, outside)
    after = seen(place.load(session_id))
    last = states[-1]
    if after != last:
        found.append(f"going on after {done} operations: {after}, not {last}")
    if (outside.read_text().count("x") if outside.exists() else 0) > max(ran, 1):
        found.append("the tool ran twice")
    again.release()
    return found


def _read_on(live: Path, stop: int) -> None:
    """Read the live file again and again until nobody writes any more; fail if it is ever not there or not whole."""
    os.set_blocking(stop, False)
    revision = 0
    while True:
        try:
            last = os.read(stop, 1) == b""
        except BlockingIOError:
            last = False
        try:
            now = json.loads(live.read_bytes())["revision"]
        except FileNotFoundError:
            now = 0
        if now < revision:
            raise AssertionError(f"revision {now} after {revision}")
        revision = now
        if last:
            return


def _forked(work: Callable[[], None], close: tuple[int, ...] = ()) -> int:
    child = os.fork()
    if child:
        return child
    try:
        for file in close:
            os.close(file)
        work()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _waited(child: int) -> int:
    return os.waitpid(child, 0)[1]


def kill_at_steps(root: str, every: int, answer: str) -> None:
    """Kill a process at every step, or at one of `every`, and write what was wrong, with the number of kills."""
    folder = Path(root)
    states = expected(Place(folder / "expected"))
    count = steps_of(folder / "counted")
    found: list[str] = []
    kills = 0
    for step in range(0, count, every):
        for torn in (False, True):
            found += problems(folder / f"{step}-{torn}", states, step, torn=torn)
            kills += 1
    Path(answer).write_text(json.dumps({"steps": count, "kills": kills, "problems": found[:5]}))

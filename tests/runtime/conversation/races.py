"""Many at once try to write one conversation: two processes, two objects of one, and after the death of a holder."""

import json
import os
import time
from pathlib import Path

from tests.runtime.conversation.places import Place, user
from tests.runtime.conversation.writers import HELD, tell, written
from tests.support.processes import spawn

WAIT = 60.0
REFUSED = ("conversation_held", "stale_writer")


def compete(place: Place, numbers: list[int], name: str, session_ids: list[str]) -> None:
    """Try to write each conversation at its start; say how it went, and hold on to what was won until told to go on."""
    for number in numbers:
        _await(place.root / f"start-{number}")
        tell(place.root / f"{number}-{name}", written(place, session_ids[number], name))
        _await(place.root / f"end-{number}")
        for held in HELD:
            held.release()  # type: ignore[attr-defined]
        HELD.clear()


def race_processes(place: Place, count: int, competitors: int = 2) -> list[str]:
    """So many races between processes that live; what was wrong with them."""
    session_ids = _conversations(place, count)
    names = [f"p{number}" for number in range(competitors)]
    children = [spawn(compete, place, list(range(count)), name, session_ids) for name in names]
    found: list[str] = []
    try:
        for number, session_id in enumerate(session_ids):
            tell(place.root / f"start-{number}", "")
            told = {name: _await(place.root / f"{number}-{name}") for name in names}
            found += [f"race {number}: {each}" for each in _wrong(place, session_id, told)]
            tell(place.root / f"end-{number}", "")
    finally:
        for child in children:
            child.kill()
            child.join()
    return found


def hold_and_die(place: Place, session_id: str, said: str) -> None:
    """Write a conversation, say so, and hold it until killed."""
    tell(Path(said), written(place, session_id, "dead"))
    time.sleep(600)


def race_after_a_death(place: Place, count: int) -> list[str]:
    """So many races between two processes for what a dead one held; what was wrong with them."""
    session_ids = _conversations(place, count)
    names = ["p0", "p1"]
    children = [spawn(compete, place, list(range(count)), name, session_ids) for name in names]
    found: list[str] = []
    try:
        for number, session_id in enumerate(session_ids):
            said = place.root / f"holder-{number}"
            holder = spawn(hold_and_die, place, session_id, str(said))
            assert _await(said) == "written"
            holder.kill()
            holder.join()
            tell(place.root / f"start-{number}", "")
            told = {name: _await(place.root / f"{number}-{name}") for name in names}
            found += [f"race {number}: {each}" for each in _wrong(place, session_id, told, before=["first", "dead"])]
            tell(place.root / f"end-{number}", "")
    finally:
        for child in children:
            child.kill()
            child.join()
    return found


def _conversations(place: Place, count: int) -> list[str]:
    ids = []
    for _ in range(count):
        session = place.new(messages=[user("first")])
        session.persist()
        session.release()
        ids.append(session.session_id)
    return ids


def _wrong(place: Place, session_id: str, told: dict[str, str], before: list[str] | None = None) -> list[str]:
    """Exactly one has written, the others were refused by name, and what was acknowledged is there."""
    winners = [name for name, said in told.items() if said == "written"]
    others = [said for said in told.values() if said != "written"]
    session = place.load(session_id)
    assert session is not None
    there = [message.text for message in session.messages]
    found = []
    if len(winners) != 1:
        found.append(f"{len(winners)} writers: {json.dumps(told)}")
    if any(not said.startswith(REFUSED) for said in others):
        found.append(f"refused otherwise: {others}")
    if there != [*(before or ["first"]), *winners]:
        found.append(f"{winners} wrote, and there is {there}")
    return found


def _await(path: Path) -> str:
    deadline = time.monotonic() + WAIT
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came to process {os.getpid()}"
        time.sleep(0.0005)
    return path.read_text()

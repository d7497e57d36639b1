"""A turn with tools whose process is killed at a chosen step, and what must be there then.

The turn appends a line, remembers a fact and answers. In files every call that changes a file is a step, in a store
every write of the store; the child kills itself instead of the chosen one, or right after it. What somebody was told
of the turn is in a journal.
"""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.runtime.conversation.killed import _forked, _waited, die_at
from tests.runtime.conversation.killed_in_store import die_at_write
from tests.runtime.project.desk import agent, calls, says, script

from holdfast.core import types
from holdfast.core.event_bodies import ToolStarted
from holdfast.core.event_bodies import read as read_body
from holdfast.models import Message, Role
from holdfast.runtime import Agent, ConversationSession
from holdfast.runtime.conversation.store_thread import STORES
from holdfast.runtime.turn.loop import ToolEnded, TurnEvent

TASK = "Append it, and remember it."
ANSWERS = (
    calls("append_file", "First the line.", file_path="log.txt", text="once"),
    calls("save_memory", key="line", value="once"),
    says("Both are done."),
)
TOLD = ("append_file", "save_memory", "answer")
Die = Callable[[], None]


def made(root: Path, url: str | None, *answers: object) -> Agent:
    """An agent in this folder, whose conversations are in files or in a store."""
    storage = {"storage": "file"} if url is None else {"storage": "store", "store_url": url}
    return agent(root, *answers, **storage)  # type: ignore[arg-type]


def run_turn(root: Path, url: str | None, journal: int, die: Die) -> None:
    """Take the turn, and note what was told of it."""
    write = os.write
    one = made(root, url, *ANSWERS)
    die()

    def tell(event: TurnEvent) -> None:
        if isinstance(event, ToolEnded):
            write(journal, f"{event.call.name}\n".encode())

    asyncio.run(one.run(TASK, tell=tell))
    write(journal, b"answer\n")


def problems(root: Path, url: str | None, told: list[str]) -> list[str]:
    """What is wrong with what a killed turn has left, and with going on from it."""
    found: list[str] = []
    sessions = ConversationSession.ids(project_root=root, **_place(url))
    one = made(root, url, says("I have looked."))
    if not sessions:
        return ["there is no conversation of what was told"] if told else found
    if not one.resume_session(sessions[0]):
        return ["the conversation cannot be resumed"]
    whole = _messages(one)
    if whole != EXPECTED[: len(whole)]:
        found.append(f"the messages are {whole}")
    if any(name not in [text for _, text in whole] for name in told if name != "answer"):
        found.append(f"{told} were told, and the messages are {whole}")
    if "answer" in told and (len(whole) != len(EXPECTED) or one.last_turn_summary is None):
        found.append(f"the turn has ended, and the messages are {whole}")
    ran = _lines(root)
    if ran and "append_file" not in _recorded(one, url):
        found.append("the line is there, and nobody knows")
    left = [each.tool for each in one.unresolved_effects]
    asyncio.run(one.run(TASK))
    shown = script(one).invocations[0].messages[0].text
    if any(f"- {tool} " not in shown for tool in left):
        found.append(f"the model is not told that nobody knows the end of {left}")
    asked = [message for message in one.messages if message.tool_calls]
    answered = {message.tool_call_id for message in one.messages if message.role is Role.TOOL}
    if any(call.id not in answered for message in asked for call in message.tool_calls):
        found.append("a call has no result when the model is asked again")
    if _lines(root) > max(ran, 1) or ran > 1:
        found.append(f"the line was appended {_lines(root)} times")
    summary = one.last_turn_summary
    if summary is None or summary.definition_of_done.task_statement != TASK:
        found.append("the task's definition of done is lost")
    one.session.release()
    return found


def kill_at_steps(root: str, every: int, answer: str) -> None:
    """Kill the turn at every step in files, or at one of `every`; write what was wrong, and the number of kills."""
    folder = Path(root)
    steps = _steps(folder / "counted")
    found: list[str] = []
    kills = 0
    for step in range(0, steps, every):
        for torn in (False, True):
            wrong = _killed_at(folder / f"{step}-{torn}", step, torn=torn)
            found += [f"step {step}{' torn' if torn else ''}: {each}" for each in wrong]
            kills += 1
    Path(answer).write_text(json.dumps({"steps": steps, "kills": kills, "problems": found[:5]}))


def _killed_at(place: Path, step: int, *, torn: bool) -> list[str]:
    """Kill the turn at a step; what is wrong with what is there then."""
    place.mkdir()
    journal = os.open(place / "journal", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    _waited(_forked(lambda: run_turn(place, None, journal, lambda: die_at(step, torn=torn))))
    os.close(journal)
    return problems(place, None, (place / "journal").read_text().split())


def run_until_killed(root: str, url: str, write: int, after: bool) -> None:
    """Take the turn in a store, and die at this write of the store, or right after it."""
    journal = os.open(Path(root) / "journal", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    run_turn(Path(root), url, journal, lambda: die_at_write(write, after=after))
    os._exit(0)  # it lived


def _steps(root: Path) -> int:
    """How many steps the turn has, counted by a process that lives."""
    root.mkdir()
    reading, writing = os.pipe()

    def child() -> None:
        count = [0]
        write = os.write

        def tell(_: str) -> None:
            count[0] += 1

        journal = os.open(os.devnull, os.O_WRONLY)
        run_turn(root, None, journal, lambda: die_at(10**9, torn=False, told=tell))
        write(writing, str(count[0]).encode())

    _waited(_forked(child))
    os.close(writing)
    return int(os.read(reading, 100))


def _place(url: str | None) -> dict[str, str]:
    return {} if url is None else {"storage": "store", "store_url": url}


def _messages(one: Agent) -> list[tuple[str, str]]:
    """Who said what; of a tool's result, which tool it was."""
    names = {call.id: call.name for message in one.messages for call in message.tool_calls}
    return [(str(message.role), _told(message, names)) for message in one.messages]


def _told(message: Message, names: dict[str, str]) -> str:
    return names[message.tool_call_id or ""] if message.role is Role.TOOL else message.text


def _lines(root: Path) -> int:
    log = root / "log.txt"
    return log.read_text().count("once") if log.exists() else 0


def _recorded(one: Agent, url: str | None) -> list[str]:
    """The tools whose beginning is recorded."""
    path = one.session.storage_path
    if path is not None:
        return [each["tool"] for each in json.loads(path.read_bytes())["effects"]]
    assert url is not None
    store = STORES.open(url)
    begun = store.run(store.store.read(one.session.session_id, types=[types.TOOL_STARTED]))
    return [read_body(event, ToolStarted).tool for event in begun]


EXPECTED = [
    ("user", TASK),
    ("assistant", "First the line."),
    ("tool", "append_file"),
    ("assistant", ""),
    ("tool", "save_memory"),
    ("assistant", "Both are done."),
]

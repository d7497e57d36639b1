"""The inner layers: a turn, the session that a context is, the store behind it, a restart, memory, files."""

from typing import Any

from holdfast.prove.runtime.checks import says
from holdfast.prove.runtime.history import TurnRecord
from holdfast.prove.runtime.layers.layer import Bench, LayerLook, LayerState
from holdfast.prove.runtime.runs.restarts import Switch
from holdfast.prove.targets.target import ProbeFailed
from holdfast.prove.wire.envelopes import FileSent

GREETING = "Hello."
ASK_NAME = "What's my name?"
ASK_FILE = "What is the code word in notes.txt?"
RECALL = "Use the memory tool to recall my favorite {thing}, then tell me what it is."
REMEMBER = "Please use the memory tool to remember: my favorite {thing} is {value}."
SIGNALS = {"stop": "SIGTERM", "kill": "SIGKILL"}
NEEDS_RESTART = "this target cannot be restarted from here"
NOT_SEEN = "its store cannot be seen from here (see --probe-command)"


async def turn(bench: Bench) -> LayerState:
    """Some answer to some words."""
    greeting = await bench.stage.say("greet", bench.stage.new_context(), GREETING, within=bench.within)
    return LayerState(greeting.reply.answered, greeting.reply.describe(), greeting.curl)


async def session_key(bench: Bench) -> LayerState:
    """Two pings in one context, the second with the task of the first, are one conversation and one session."""
    stage, context, name = bench.stage, bench.context_id, bench.stage.facts.name
    before = await _probe(bench)
    first = await stage.say("first ping", context, f"Hi, my name is {name}.", within=bench.within)
    task = first.reply.task_id
    second = await stage.say("second ping", context, ASK_NAME, task_id=task, within=bench.within)
    told = ""
    if task and not second.reply.answered:
        # A task that has ended takes no more messages; its context does.
        told = f"with the task's id: {second.reply.describe()}; without: "
        second = await stage.say("second ping, no task", context, ASK_NAME, within=bench.within)
    after = await _probe(bench)
    got = f"{told}{second.reply.describe()}; {_sessions(before, after)}"
    return LayerState(_is_one(second, name, before, after), got, second.curl)


async def store(bench: Bench) -> LayerState:
    """The store can be read, and the turns of the session key's context are in it."""
    seen = await bench.target.probe(bench.context_id)
    if seen is None:
        return LayerState(None, NOT_SEEN)
    counts = ", ".join(f"{seen[name]} {name}" for name in ("sessions", "events") if name in seen) or str(seen)
    events = seen.get("context", {}).get("events", seen.get("events"))
    if "context" in seen:
        counts += f", of which the context has {events} events"
    told = bench.stage.history.took("first ping")
    return LayerState(not told or events is None or events > 0, counts, bench.probe())


async def restart(bench: Bench) -> LayerState:
    """The target is stopped, or killed, and started; then the name is asked for that the first ping told."""
    stage, target = bench.stage, bench.target
    if not target.restartable:
        return LayerState(None, NEEDS_RESTART)
    if not await Switch(target).turn(bench.power, [stage]):
        trouble = stage.history.last_power().trouble
        return LayerState(False, f"the target did not come back: {trouble}", _asking(bench))
    answer = await stage.say("ask after the restart", bench.context_id, ASK_NAME, within=bench.within)
    fine = answer.reply.answered and says(answer.reply.readings, stage.facts.name)
    how = SIGNALS[bench.power]
    return LayerState(fine, f"after {how} and a start: {answer.reply.describe()}", answer.curl)


async def memory(bench: Bench) -> LayerState:
    """The memory tool is asked for a key that nobody ever set, then for one that was set in another context."""
    stage, fruit = bench.stage, bench.stage.facts.fruit
    unknown = await stage.say("unknown memory", stage.new_context(), _unknown(bench), within=bench.within)
    if not unknown.reply.answered:
        return LayerState(False, unknown.reply.describe(), unknown.curl)
    thing = f"x{stage.new_hex()}"
    await stage.say("remember", stage.new_context(), REMEMBER.format(thing=thing, value=fruit), within=bench.within)
    recalled = await stage.say("recall", stage.new_context(), RECALL.format(thing=thing), within=bench.within)
    fine = recalled.reply.answered and says(recalled.reply.readings, fruit)
    return LayerState(fine, recalled.reply.describe(), recalled.curl)


async def files(bench: Bench) -> LayerState:
    """A small text file is sent, and asked about in the same breath."""
    context, sent = bench.stage.new_context(), (_notes(bench),)
    answer = await bench.stage.say("file", context, ASK_FILE, files=sent, within=bench.within)
    fine = answer.reply.answered and says(answer.reply.readings, bench.stage.facts.color)
    return LayerState(fine, answer.reply.describe(), answer.curl)


async def _probe(bench: Bench) -> dict[str, Any]:
    """What the store shows now; nothing where it cannot be seen, which is the next layer's business."""
    try:
        return await bench.target.probe(bench.context_id) or {}
    except ProbeFailed:
        return {}


def _sessions(before: dict[str, Any], after: dict[str, Any]) -> str:
    """How many sessions the pings made, in words."""
    if "context" in after:
        return f"the store has {after['context'].get('sessions')} session(s) for the context"
    if "sessions" in before and "sessions" in after:
        return f"the store has {after['sessions'] - before['sessions']} more session(s)"
    return NOT_SEEN


def _is_one(second: TurnRecord, name: str, before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether the second ping knew what the first said, and the store has no second session for them.

    A store with no session at all is the next layer's business.
    """
    new = after.get("context", {}).get("sessions", after.get("sessions", 0) - before.get("sessions", 0))
    return second.reply.answered and says(second.reply.readings, name) and new <= 1


def _unknown(bench: Bench) -> str:
    return RECALL.format(thing=f"z{bench.stage.new_hex()}")


def _notes(bench: Bench) -> FileSent:
    return FileSent("notes.txt", "text/plain", data=f"The code word is {bench.stage.facts.color}.\n".encode())


def _greeting(bench: Bench) -> str:
    return bench.saying(GREETING)


def _asking(bench: Bench) -> str:
    return bench.saying(ASK_NAME)


def _recalling(bench: Bench) -> str:
    return bench.saying(_unknown(bench))


def _filing(bench: Bench) -> str:
    return bench.saying(ASK_FILE, _notes(bench))


LOOKS = (
    LayerLook("turn", "an answer to a greeting", turn, _greeting, needs=("reachable",)),
    LayerLook(
        "session key",
        "two pings in one context are one session: the second knows the name that the first told",
        session_key,
        _greeting,
        needs=("turn",),
        denies=("name",),
    ),
    LayerLook(
        "store",
        "a store that can be read and has the events of these pings",
        store,
        Bench.probe,
        needs=("reachable",),
    ),
    LayerLook(
        "survives a restart",
        "a target that comes back and knows the name that the first ping told",
        restart,
        _asking,
        needs=("session key",),
        denies=("restart", "crash"),
    ),
    LayerLook(
        "memory",
        "an answer about what memory does not have, and what one context saved in another",
        memory,
        _recalling,
        needs=("turn",),
        denies=("memory",),
    ),
    LayerLook(
        "files",
        "an answer with the code word of the file in it",
        files,
        _filing,
        needs=("turn",),
        denies=("file-caption",),
    ),
)

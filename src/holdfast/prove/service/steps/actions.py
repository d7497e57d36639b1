"""Each thing was done once: in the world, as the programs' files show; in the sessions; and in the sessions' files."""

from collections import Counter
from pathlib import Path
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.prove.live.api import at
from holdfast.prove.live.claims import ClaimBroken, require, same
from holdfast.prove.service import records
from holdfast.prove.service.program import ProgramSpec
from holdfast.prove.service.stage import ServiceStage, ServiceStep

STARTED, FINISHED = ("tool_started", "task_started"), ("tool_finished", "task_finished")
TOLD = "the session tells all that was done"
FILES = "the files are the session"
FILES_SECONDS = 90.0
CHILD_SECONDS = 90.0
OK = 200


async def perform(stage: ServiceStage) -> str:
    """Compare what was asked for, what was done, what was told, and what lies in files."""
    counted = []
    actions = children = 0
    for program in stage.programs:
        counted.append(program.check(stage.around.data(program.name), stage.cases[program.name]))
        record = await records.read(stage.api, stage.sessions[program.name])
        check_told(stage, program, record)
        await _check_files(stage, stage.sessions[program.name], record)
        children += await _check_children(stage, program)
        actions += len(record.actions) + len(record.responses)
    for session_id, problem in (await records.verify(stage.api, None)).items():
        raise ClaimBroken("the sessions are whole", f"{session_id}: {problem}", expected="verified", got=problem)
    more = f", and {children} sessions below them" if children else ""
    return f"{'; '.join(counted)}; told in {actions} actions and responses, the same in files{more}"


async def _check_children(stage: ServiceStage, program: ProgramSpec) -> int:
    """ClaimBroken unless the sessions that a program's work had of its own are there, soon, below the program's."""
    above = stage.sessions[program.name]
    for session_id in program.children(stage.around.data(program.name)):

        async def missing(session_id: str = session_id) -> str:
            answer = await stage.api.ask("child", "GET", at("/api/sessions/{}", session_id), limit=1)
            return "" if answer.status == OK else f"{session_id} is not there"

        await stage.until(TOLD, missing, within=CHILD_SECONDS)
        record = await records.read(stage.api, session_id)
        parent = record.session["metadata"]["lineage"].get("parentSession")
        same(parent, above, TOLD, f"{session_id} does not say whose session it is")
        require(bool(record.actions), TOLD, f"{session_id} tells nothing", expected="actions", got="none")
    return len(program.children(stage.around.data(program.name)))


def check_told(stage: ServiceStage, program: ProgramSpec, record: records.SessionRecord) -> None:
    """ClaimBroken unless the session has each effect begun and ended once, and one response for each answer."""
    for kind in program.begun:
        same(len(record.of_types((kind,))), 1, TOLD, f"{program.name} did not tell {kind} once")
    require(bool(record.actions), TOLD, f"the session of {program.name} has no actions", expected="some", got="none")
    begun, ended = (Counter(map(_effect, record.of_types(kinds))) for kinds in (STARTED, FINISHED))
    for effect, count in (begun | ended).items():
        require(
            begun[effect] == ended[effect] == 1,
            TOLD,
            f"{program.name}: the effect {effect} was not begun and ended once",
            expected="1 and 1",
            got=f"{begun[effect]} and {ended[effect]}",
        )
        assert count == 1
    effects = sum(1 for case in stage.cases[program.name] if case.effect)
    require(
        len(begun) >= effects,
        TOLD,
        f"{program.name} did not tell of all its effects",
        expected=f"{effects} or more",
        got=str(len(begun)),
    )
    answers = sum(1 for case in stage.cases[program.name] if case.answered)
    same(len(record.responses), answers, TOLD, f"{program.name}: not one response for each answer")


def _effect(action: dict[str, Any]) -> str:
    """What an effect is known by."""
    details = action["details"] if isinstance(action["details"], dict) else {}
    return str(details.get("idempotencyKey") or details.get("task") or action.get("idempotencyKey"))


async def _check_files(stage: ServiceStage, session_id: str, record: records.SessionRecord) -> None:
    """ClaimBroken unless the session's file has each action and response once, soon."""
    expected = [
        event["eventId"] for event in sorted([*record.actions, *record.responses], key=lambda each: each["seq"])
    ]
    path = stage.around.files / "sessions" / session_id / "actions.jsonl"

    async def missing() -> str:
        found = _ids(path)
        return "" if len(found) >= len(expected) else f"{len(found)} of {len(expected)} lines are in {path.name}"

    await stage.until(FILES, missing, within=FILES_SECONDS)
    found = _ids(path)
    require(
        found == expected,
        FILES,
        f"the lines of {session_id} are not the session's events, each once and in order",
        expected=f"{len(expected)} lines",
        got=f"{len(found)} lines, {len(set(found))} different",
    )


def _ids(path: Path) -> list[str]:
    """The event ids in a file of lines; what is half written is none yet."""
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            found.append(str(strict_json.parse_own(line)["eventId"]))
        except (InvalidJson, ValueError, LookupError, TypeError):
            continue
    return found


ACTIONS = ServiceStep(
    "actions", "nothing was done twice or left out: in the world, in the sessions, in their files", perform
)

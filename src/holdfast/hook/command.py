"""One run of `holdfast hook`: read a payload, keep it, see that a courier runs, tell what was before.

Whatever happens, the exit code is 0 and the time is bounded: the program that runs this must not notice. What went
wrong is in the journal. It imports as little as it can, because most of its time is Python's own start.
"""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from holdfast.hook import inbox, payload
from holdfast.hook.journal import note, say

SECONDS = 3.0
"""The longest that reading and keeping may take; a program that does not end its JSON is not waited for."""
CONTEXT_SECONDS = 0.35
"""How long a session's start waits for what was before, unless HOLDFAST_CONTEXT_SECONDS says otherwise: 0 is never."""
USAGE = "holdfast hook: {} is no option of it, nothing is recorded; see `holdfast hook --help`\n"


class _TimeIsUp(BaseException):
    """Not an Exception, so that nothing on the way takes it for one of its own."""


def run(arguments: Sequence[str]) -> None:
    """Record what is on stdin; nothing is raised and nothing said but, on stdout, what a session's start asks for."""
    folder = None
    try:
        environ = dict(os.environ)
        folder = inbox.folder_of(environ)
        signal.signal(signal.SIGALRM, _up)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        _record(folder, environ, arguments)
    except (Exception, _TimeIsUp) as error:
        said = f"not recorded: {_reason(error)}"
        note(folder, said) if folder is not None else say(f"holdfast hook: {said}\n")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _record(folder: Path, environ: dict[str, str], arguments: Sequence[str]) -> None:
    session, masks, unknown = _options(arguments)
    if unknown is not None:
        say(USAGE.format(unknown))
        raise payload.NotAPayload(f"unknown option {unknown!r:.80}")
    said = payload.parse(*payload.read(0))
    around = environ.get("SESSION_ID") or None
    session = session or payload.session_of(said) or around
    if session is None:
        raise payload.NotAPayload("it names no session: --session, SESSION_ID or a member session_id")
    about = {"session": session, "around": around, "masks": masks, "config": _config(environ)}
    inbox.append(folder, payload.record(said, about))
    try:
        start_courier(folder)
    except OSError as error:
        note(folder, f"recorded, and nobody delivers it yet: {_reason(error)}")
    if said.get("hook_event_name") == "SessionStart":
        _tell(folder, environ, said, session)


def _tell(folder: Path, environ: dict[str, str], said: dict[str, object], session: str) -> None:
    """Say on stdout what the session, or the last one of its folder, is to go on with; nothing if that takes long."""
    try:
        seconds = float(environ.get("HOLDFAST_CONTEXT_SECONDS") or CONTEXT_SECONDS)
        if seconds <= 0:
            return
        signal.setitimer(signal.ITIMER_REAL, seconds)
        from holdfast.hook.context import answer

        text = answer(environ, said, session, seconds)
    except (Exception, _TimeIsUp) as error:
        note(folder, f"no context at the start: {_reason(error)}")
        return
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        while text:
            text = text[os.write(1, text) :]
    except OSError:
        return  # nobody reads it


def start_courier(folder: Path) -> None:
    """See that a courier runs: one that lives on when this process has ended, and holds none of its files."""
    if inbox.has_courier(folder):
        return
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    # -P: the folder that this runs in is somebody's project, and must not be where modules are looked for.
    words = [sys.executable, "-P", "-m", "holdfast", "hook", "--courier"]
    os.posix_spawn(sys.executable, words, os.environ, file_actions=nothing, setsid=True)


def _options(arguments: Sequence[str]) -> tuple[str | None, bool, str | None]:
    """The session, whether to mask, and the first option that there is not."""
    session, masks = None, True
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--session" and rest:
            session = rest.pop(0)
        elif word.startswith("--session="):
            session = word.partition("=")[2]
        elif word in {"--mask", "--verbatim"}:
            masks = word == "--mask"
        else:
            return session, masks, word
    return session or None, masks, None


def _config(environ: dict[str, str]) -> str | None:
    """The folder in which Claude Code keeps its sessions: a transcript elsewhere is not read."""
    found = environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")  # noqa: PTH111
    return found if os.path.isabs(found) else None  # noqa: PTH117


def _up(_number: int, _frame: FrameType | None) -> None:
    raise _TimeIsUp


def _reason(error: BaseException) -> str:
    return "it took too long" if isinstance(error, _TimeIsUp) else f"{type(error).__name__}: {error}"

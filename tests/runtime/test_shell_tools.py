"""The tool that runs a command."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.support.eventually import eventually

from holdfast.core.errors import InvalidInput
from holdfast.runtime.shell_tools import RunCommand
from holdfast.runtime.tools import ToolContext


def impatient(limit: float) -> type[RunCommand]:
    """The tool that waits for so many seconds."""

    class Impatient(RunCommand, frozen=True):
        seconds: ClassVar[float] = limit

    return Impatient


class Abrupt(RunCommand, frozen=True):
    """Does not wait for last words."""

    grace_seconds: ClassVar[float] = 0.05


async def ran(command: str, root: Path, tool: type[RunCommand] = RunCommand) -> str:
    nothing: Any = None
    return await tool(command).run(ToolContext(root, nothing, "main", "s", "c"))


async def test_output_and_exit_code_come_back(tmp_path: Path) -> None:
    assert await ran("echo one; echo two >&2; exit 3", tmp_path) == "one\ntwo\n[exit code 3]"
    assert await ran("true", tmp_path) == "[exit code 0]"
    assert await ran("pwd -P", tmp_path) == f"{tmp_path.resolve()}\n[exit code 0]"


async def test_a_long_output_is_cut_and_said_to_be(tmp_path: Path) -> None:
    said = await ran("head -c 100000 /dev/zero | tr '\\0' x", tmp_path)
    assert said.endswith("x\n[70000 more bytes]\n[exit code 0]")


async def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    for seconds in (0.2, 2.0, 20.0):  # a slow machine may take longer to begin
        said = await ran("echo begun; sleep 60", tmp_path, impatient(seconds))
        if "begun" in said:
            break
    assert said == f"begun\n[ended after {seconds:.0f} seconds]"


async def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    await ran("sleep 60 & echo $! > pid", tmp_path)
    pid = int((tmp_path / "pid").read_text())
    await eventually(lambda: not _runs(pid))


async def test_a_process_that_left_its_group_is_not_waited_for(tmp_path: Path) -> None:
    command = "setsid sh -c 'echo $$ > pid; exec sleep 60' & while [ ! -s pid ]; do sleep 0.01; done; echo begun"
    assert await ran(command, tmp_path, Abrupt) == "begun\n[exit code 0]"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


async def test_a_cancelled_command_is_ended(tmp_path: Path) -> None:
    running = asyncio.create_task(ran("echo $$ > pid; sleep 60", tmp_path))
    await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip() != "")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    pid = int((tmp_path / "pid").read_text())
    await eventually(lambda: not _runs(pid))


async def test_a_command_cancelled_twice_leaves_no_pipe_open(tmp_path: Path) -> None:
    before = _pipes()
    command = "echo $$ > shell; setsid sh -c 'echo $$ > pid; exec sleep 60' & sleep 60"
    running = asyncio.create_task(ran(command, tmp_path))
    await eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip() != "")
    for _ in range(2):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    await eventually(lambda: _pipes() == before)
    shell = int((tmp_path / "shell").read_text())
    await eventually(lambda: not Path(f"/proc/{shell}").exists())  # seen to end, too
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


async def test_the_keys_of_models_are_not_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HARMLESS", "here")
    assert await ran('echo "$OPENAI_API_KEY|$HARMLESS"', tmp_path) == "|here\n[exit code 0]"


async def test_a_command_with_a_null_byte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        await ran("echo \0", tmp_path)


def _pipes() -> list[str]:
    """The pipes that this process has open."""
    found = []
    for number in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(number.readlink()))
    return sorted(name for name in found if name.startswith("pipe:"))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False

"""The container engine of this machine: its command, and the command that starts what a compose file names."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from holdfast.core import HoldfastError
from holdfast.core.redact import redact

ENGINES = ("docker", "podman")
ASK_SECONDS = 20.0
CALL_SECONDS = 120.0


class EngineMissing(HoldfastError):
    """There is no container engine that answers, or none that understands compose files."""

    code: ClassVar[str] = "engine_missing"
    status: ClassVar[int] = 503


class EngineFailed(HoldfastError):
    """The engine refused what it was asked for, or did not answer in time."""

    code: ClassVar[str] = "engine_failed"
    status: ClassVar[int] = 503


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """Docker, or Podman, which understands the same words."""

    command: str
    compose: tuple[str, ...]

    def call(self, *words: str, within: float = CALL_SECONDS, with_stderr: bool = False) -> str:
        """What the engine says to a command; EngineFailed if it does not end with 0 in time."""
        return _call([self.command, *words], within, with_stderr=with_stderr)

    def compose_call(
        self, *words: str, settings: Mapping[str, str], within: float = CALL_SECONDS, holding: Sequence[int] = ()
    ) -> str:
        """The same of compose; the settings are what its file refers to, and it holds these open files as long."""
        return _call([*self.compose, *words], within, {**os.environ, **settings}, holding=holding)

    def container(self, project: str, service: str, *, running: bool = False) -> str:
        """The id of the container that compose made for a service; "" if there is none, or none that runs."""
        # Asked of the engine: not every compose lists what has ended.
        labels = {"project": project, "service": service}
        filters = [
            word for key, value in labels.items() for word in ("--filter", f"label=com.docker.compose.{key}={value}")
        ]
        return self.call("ps", "--quiet", *(() if running else ("--all",)), *filters)


def find_engine() -> ContainerEngine:
    """The engine of this machine; EngineMissing says what is lacking."""
    found = [engine for engine in ENGINES if shutil.which(engine)]
    if not found:
        raise EngineMissing("there is no container engine", hint="install Docker or Podman; --command proves a process")
    answering = next((engine for engine in found if _answers(engine, "info")), None)
    if answering is None:
        raise EngineMissing(f"{' and '.join(found)} cannot be reached", hint=f"see `{found[0]} info`")
    for words in ((answering, "compose"), (f"{answering}-compose",)):
        if shutil.which(words[0]) and _answers(*words, "version"):
            return ContainerEngine(answering, words)
    raise EngineMissing(f"{answering} is there, and no compose", hint=f"install {answering}-compose")


def _answers(*words: str) -> bool:
    try:
        return subprocess.run(words, capture_output=True, timeout=ASK_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _call(
    words: Sequence[str],
    within: float,
    environment: Mapping[str, str] | None = None,
    *,
    with_stderr: bool = False,
    holding: Sequence[int] = (),
) -> str:
    shown = " ".join(words[:2])
    try:
        ended = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if with_stderr else subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=within,
            check=False,
            pass_fds=holding,
        )
    except subprocess.TimeoutExpired:
        raise EngineFailed(
            f"`{shown}` had not ended after {within:g} s", hint="see whether the engine answers"
        ) from None
    except OSError as error:
        raise EngineFailed(f"`{shown}` cannot be run: {error.strerror}") from None
    if ended.returncode != 0:
        said = [line.strip() for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
        raise EngineFailed(f"`{shown}` ended with exit code {ended.returncode}: {redact(' '.join(said[-2:]))}")
    return ended.stdout.strip()

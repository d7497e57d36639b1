"""Which target was asked for, checked as a whole before anything is started or written."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.targets.command import split
from holdfast.prove.targets.url import check_url

BUNDLED = "bundled"
BUNDLED_FILE = "bundled-file"
"""The same with its conversations in files."""
OURS = (None, BUNDLED, BUNDLED_FILE)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which target was asked for: a URL, a command, one by name, or an image."""

    url: str | None = None
    command: str | None = None
    name: str | None = None
    port: int | None = None
    store: str | None = None
    workspace: Path | None = None
    restart_command: str | None = None
    probe_command: str | None = None
    next_command: str | None = None
    image: str | None = None


def check(choice: Choice) -> None:
    """InvalidInput if the parts of the choice contradict each other or name what is not there."""
    if choice.image is not None:
        raise InvalidInput(
            f"TEMPLATE_IMAGE names the image {choice.image}, and images cannot be proven yet",
            hint="start a container of it and prove that with --url and --restart-command, without TEMPLATE_IMAGE",
        )
    ways = [choice.url, choice.command, choice.name]
    if sum(way is not None for way in ways) > 1:
        raise InvalidInput("--url, --command and --target exclude each other", hint="name one target")
    if choice.name not in OURS and choice.name not in {f"broken:{kind}" for kind in KINDS}:
        raise InvalidInput(
            f"there is no target {choice.name!r}",
            hint=f"one of {BUNDLED}, {BUNDLED_FILE}, " + ", ".join(f"broken:{kind}" for kind in KINDS),
        )
    foreign = choice.url is not None or choice.command is not None
    if choice.store is not None and (foreign or choice.name not in OURS):
        raise InvalidInput("--store is for the bundled target only", hint="leave out --store")
    if choice.workspace is not None and not foreign:
        raise InvalidInput("--workspace is for --url and --command", hint="other targets have one of their own")
    if choice.url is not None and choice.port is not None:
        raise InvalidInput("--port is not for --url", hint="write the port into the URL")
    if choice.command is not None and choice.port is None and "{port}" not in choice.command:
        raise InvalidInput(
            "--command needs a port",
            hint="say where it listens with --port N, or write {port} into the command",
        )
    _check_commands(choice, foreign)
    if choice.url is not None:
        check_url(choice.url)


def _check_commands(choice: Choice, foreign: bool) -> None:
    if choice.command is not None:
        split(choice.command)
    _check_next(choice)
    if choice.restart_command is not None:
        if choice.url is None:
            raise InvalidInput("--restart-command is for --url", hint="the proof restarts what it started itself")
        split(choice.restart_command, "--restart-command")
    if choice.probe_command is not None:
        if not foreign:
            raise InvalidInput("--probe-command is for --url and --command", hint="other stores are known")
        split(choice.probe_command, "--probe-command")


def _check_next(choice: Choice) -> None:
    if choice.next_command is None:
        return
    if choice.command is None and (choice.url is not None or choice.name not in OURS):
        raise InvalidInput(
            "--next-command is for --command and for the bundled target", hint="it starts the next version of that"
        )
    split(choice.next_command, "--next-command")
    if choice.store is not None and "{store}" not in choice.next_command:
        raise InvalidInput(
            "--next-command does not say which store", hint="write --store {store} into it: both versions share that"
        )
    if choice.port is None and "{port}" not in choice.next_command:
        raise InvalidInput(
            "--next-command needs a port",
            hint="say where both versions listen with --port N, or write {port} into both commands",
        )

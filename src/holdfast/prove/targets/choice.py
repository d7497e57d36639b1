"""Which target was asked for, checked as a whole before anything is started or written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.targets.command import split
from holdfast.prove.targets.templates.folder import find_template
from holdfast.prove.targets.url import check_url

BUNDLED = "bundled"
BUNDLED_FILE = "bundled-file"
"""The same with its conversations in files."""
OURS = (None, BUNDLED, BUNDLED_FILE)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which target was asked for: a URL, a command, one by name, an image, or a template."""

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
    template: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """What an image or a template is told beside where its model is."""


def check(choice: Choice) -> None:
    """InvalidInput if the parts of the choice contradict each other or name what is not there."""
    ways = [choice.url, choice.command, choice.name, choice.image, choice.template]
    if sum(way is not None for way in ways) > 1:
        hint = "TEMPLATE_IMAGE in the environment is an --image" if choice.image else "name one target"
        names = "--url, --command, --target, --image and --template"
        raise InvalidInput(f"{names} exclude each other", hint=hint)
    if choice.image is not None:
        _check_image(choice)
        return
    if choice.template is not None:
        _check_template(choice)
        return
    if choice.environment:
        raise InvalidInput(
            "--env is for --image and --template", hint="other targets have the environment of the proof"
        )
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


def _check_image(choice: Choice) -> None:
    """An image is told its port and its model, and nobody can look into its store."""
    _check_surroundings(choice, "--image", "see docs/prove-images.md", {"--port": choice.port})
    if not choice.image or choice.image.startswith("-") or any(letter.isspace() for letter in choice.image):
        raise InvalidInput(f"{choice.image!r} is not the name of an image", hint="for example --image acme/agent:1.2")


def _check_template(choice: Choice) -> None:
    """A template has a port, a store and a workspace from us."""
    _check_surroundings(choice, "--template", "see docs/templates.md", {})
    find_template(choice.template or "")


def _check_surroundings(choice: Choice, option: str, hint: str, more: Mapping[str, object]) -> None:
    """InvalidInput if an option was given that is of no use where we start the target, or a variable that is none."""
    options = {
        **more,
        "--store": choice.store,
        "--workspace": choice.workspace,
        "--restart-command": choice.restart_command,
        "--probe-command": choice.probe_command,
        "--next-command": choice.next_command,
    }
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InvalidInput(f"{' and '.join(given)} cannot be used with {option}", hint=hint)
    for name, value in choice.environment.items():
        if not name.isidentifier() or "\n" in value or "\r" in value or "\0" in value:
            raise InvalidInput(f"--env {name!r} is not NAME=VALUE on one line", hint="for example --env MODEL=sim-1")


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

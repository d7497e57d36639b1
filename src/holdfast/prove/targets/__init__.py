"""Targets: what can be put to the proof, and how each is started, stopped and killed."""

from pathlib import Path

from holdfast.prove.targets.broken import broken
from holdfast.prove.targets.bundled import bundled
from holdfast.prove.targets.choice import Choice, check
from holdfast.prove.targets.command import command
from holdfast.prove.targets.process import Launch, ProcessTarget, free_port
from holdfast.prove.targets.target import NotReady, Target
from holdfast.prove.targets.url import UrlTarget

__all__ = ["Choice", "NotReady", "Target", "check", "choose"]


def choose(choice: Choice, folder: Path, start_seconds: float) -> Target:
    """The target of a checked choice; its data and logs go into the folder."""
    if choice.url is not None:
        return UrlTarget(choice.url, choice.workspace)
    return ProcessTarget(_launch(choice, folder / "data"), folder, start_seconds)


def _launch(choice: Choice, data: Path) -> Launch:
    port = choice.port or free_port()
    data.mkdir()
    if choice.command is not None:
        return command(choice.command, data, port, choice.workspace)
    if choice.name is not None and choice.name.startswith("broken:"):
        return broken(choice.name.removeprefix("broken:"), data, port)
    return bundled(data, port, choice.store)

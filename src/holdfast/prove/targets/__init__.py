"""Targets: what can be put to the proof, and how each is started, stopped and killed.

A kind of target is a module here. One that is a process says how it is launched (`Launch`), any other fulfils `Target`
itself; a kind is asked for by a member of `Choice` and made in `choose`.
"""

from pathlib import Path

from holdfast.prove.targets.broken import broken
from holdfast.prove.targets.bundled import bundled
from holdfast.prove.targets.choice import BUNDLED_FILE, Choice, check
from holdfast.prove.targets.command import command
from holdfast.prove.targets.containers.target import ContainerTarget, Tell
from holdfast.prove.targets.process import HOST, Launch, ProcessTarget, free_port
from holdfast.prove.targets.target import (
    DescribedTarget,
    PausableTarget,
    ProbeFailed,
    Target,
    TargetNotReady,
    UpgradableTarget,
)
from holdfast.prove.targets.templates.folder import find_template
from holdfast.prove.targets.templates.target import TemplateTarget
from holdfast.prove.targets.url import UrlTarget
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials

__all__ = [
    "Choice",
    "DescribedTarget",
    "NotReady",
    "PausableTarget",
    "ProbeFailed",
    "Target",
    "TargetNotReady",
    "Tell",
    "UpgradableTarget",
    "check",
    "choose",
    "prepare",
]

NotReady = TargetNotReady
"""The name that programs with targets of their own know."""


def choose(
    choice: Choice,
    folder: Path,
    start_seconds: float,
    credentials: Credentials = NO_CREDENTIALS,
    tell: Tell = lambda _: None,
) -> Target:
    """The target of a checked choice, which wants these credentials; its data and logs go into the folder.

    What takes a while before it starts is told.
    """
    if choice.image is not None:
        return ContainerTarget(
            choice.image,
            folder,
            start_seconds,
            environment=choice.environment,
            credentials=credentials,
            tell=tell,
        )
    if choice.template is not None:
        return TemplateTarget(
            find_template(choice.template),
            folder,
            start_seconds,
            port=choice.port,
            environment=choice.environment,
            credentials=credentials,
            tell=tell,
        )
    if choice.url is not None:
        return UrlTarget(
            choice.url,
            choice.workspace,
            log_folder=folder,
            start_seconds=start_seconds,
            restart_command=choice.restart_command,
            probe_command=choice.probe_command,
            credentials=credentials,
        )
    return ProcessTarget(_launch(choice, folder / "data"), folder, start_seconds, credentials=credentials)


def prepare(choice: Choice, tell: Tell = lambda _: None) -> None:
    """What takes minutes the first time and is no part of any run: the venv of a template."""
    if choice.template is not None:
        find_template(choice.template).install(tell)


def _launch(choice: Choice, data: Path) -> Launch:
    port, peer_url = choice.port or free_port(), f"http://{HOST}:{free_port()}/a2a"
    data.mkdir()
    if choice.command is not None:
        return command(
            choice.command,
            data,
            port,
            choice.workspace,
            choice.probe_command,
            peer_url=peer_url,
            next_line=choice.next_command,
        )
    if choice.name is not None and choice.name.startswith("broken:"):
        return broken(choice.name.removeprefix("broken:"), data, port, peer_url=peer_url)
    files = choice.name == BUNDLED_FILE
    return bundled(data, port, choice.store, files=files, peer_url=peer_url, next_line=choice.next_command)

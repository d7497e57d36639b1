"""What the proof of a runtime can be asked for: one type for `holdfast prove` and for `holdfast.prove.prove`."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypedDict

from holdfast.core.errors import InvalidInput
from holdfast.core.redact import HIDDEN, redact
from holdfast.prove.options import ARTIFACTS, ProverOptions, absolute
from holdfast.prove.publication import NOTHING, Publication
from holdfast.prove.runtime.own_proofs import with_own
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import catalogue
from holdfast.prove.runtime.selection import ALL, Selection, select
from holdfast.prove.runtime.stage import LONG_TURNS, patience_of
from holdfast.prove.targets import Choice, Target, Tell, check, choose, prepare
from holdfast.prove.targets.containers.engine import find_engine
from holdfast.prove.targets.containers.environment import image_environment, new_token
from holdfast.prove.wire.credentials import NO_CREDENTIALS, Credentials, credentials
from holdfast.prove.wire.envelopes import WireVersion
from holdfast.terminal.text import escaped

AS_THEY_ARE = ("seed", "timeout", "repeat", "turns", "keep_running", "quiet", "as_json", "as_ndjson")
TOKEN, IMAGE = "HOLDFAST_PROVE_TOKEN", "TEMPLATE_IMAGE"


class ProveArguments(TypedDict, total=False):
    """What a program can ask for, with the names and the meaning of the command line's options.

    `target` is a name such as `broken:memory-only`, or an object that fulfils `Target`. `proofs` are more proofs: files
    that have some, or proofs themselves. `profile` and `skip` are names, and `headers` go with every request.
    """

    target: str | Target
    url: str
    command: str
    image: str
    template: str
    environment: Mapping[str, str]
    port: int
    store: str
    workspace: Path | str
    restart_command: str
    probe_command: str
    next_command: str
    proofs: Sequence[Proof | Path | str]
    profile: str | Sequence[str]
    skip: str | Sequence[str]
    turns: int
    token: str
    headers: Mapping[str, str]
    seed: int
    wire: Literal["0.3", "1.0"]
    timeout: float
    artifacts: Path | str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeOptions(ProverOptions):
    """A target, by choice or as the object that it is, what to prove of it, and what to show and to leave behind."""

    choice: Choice = field(default_factory=Choice)
    target: Target | None = None
    proofs: tuple[Proof | Path, ...] = ()
    profiles: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    turns: int = LONG_TURNS
    credentials: Credentials = NO_CREDENTIALS
    wire: WireVersion | None = None
    timeout: float = 30.0
    repeat: int = 1
    junit: Path | None = None
    publication: Publication = NOTHING
    keep_running: bool = False
    quiet: bool = False
    as_ndjson: bool = False

    @classmethod
    def of(cls, only: Sequence[str], given: Mapping[str, Any], arguments: Mapping[str, Any]) -> Self:
        """The options in what was given by name; what is missing, or None, is as usual."""
        named, headers = given.get("target"), given.get("headers") or {}
        is_name = isinstance(named, str)
        workspace, junit, wire = given.get("workspace"), given.get("junit"), given.get("wire")
        template = given.get("template")
        image = given.get("image") or (None if template else os.environ.get(IMAGE)) or None
        token = given.get("token") or os.environ.get(TOKEN) or (new_token() if image else None)
        environment = dict(given.get("environment") or {})
        return cls(
            only=tuple(only),
            choice=Choice(
                url=given.get("url"),
                command=given.get("command"),
                name=named if is_name else None,
                port=given.get("port"),
                store=given.get("store"),
                workspace=None if workspace is None else absolute(workspace, "--workspace"),
                restart_command=given.get("restart_command"),
                probe_command=given.get("probe_command"),
                next_command=given.get("next_command"),
                image=image,
                template=template,
                environment=image_environment(token, environment) if image and token else environment,
            ),
            target=None if is_name else named,
            proofs=tuple(each if isinstance(each, Proof) else Path(each) for each in given.get("proofs") or ()),
            profiles=_names(given.get("profile")),
            skip=_names(given.get("skip")),
            credentials=credentials(
                token,
                [*(given.get("header") or ()), *(f"{name}: {value}" for name, value in headers.items())],
            ),
            wire=WireVersion(wire) if wire else None,
            artifacts=absolute(given.get("artifacts") or ARTIFACTS, "--artifacts"),
            junit=None if junit is None else absolute(junit, "--junit"),
            publication=Publication.of(given),
            arguments=_shown(arguments),
            **{name: given[name] for name in AS_THEY_ARE if given.get(name) is not None},
        )

    @property
    def foreign(self) -> bool:
        """Whether the target is somebody's own: of such a one only continuity is expected unless more is asked for."""
        choice = self.choice
        return self.target is not None or any(way is not None for way in (choice.url, choice.command, choice.image))

    def selected(self) -> Selection:
        """The proofs that are asked for and what they need; InvalidInput if one is not known.

        Proofs of your own are tried whatever their profile: whoever gives them wants them. So are, of an image, the
        four that gate a release.
        """
        if self.only and self.profiles:
            raise InvalidInput("--only and --profile exclude each other", hint="--only names proofs one by one")
        ours = catalogue()
        proofs = with_own(ours, self.proofs)
        profiles = self.profiles or (("continuity",) if self.foreign else (ALL,))
        always = proofs.keys() - ours.keys()
        if self.choice.image is not None:
            always |= {name for name, proof in proofs.items() if proof.gate}
        return select(proofs, self.only, profiles=profiles, skip=self.skip, always=always)

    def hide(self, value: Any) -> Any:
        """The value, however nested, without the credentials."""
        return self.credentials.mask(value)

    def tell(self, line: str) -> None:
        """Say a line on stderr, unless nobody wants to hear any."""
        if not self.quiet:
            sys.stderr.write(f"{escaped(self.hide(redact(line)))}\n")
            sys.stderr.flush()

    def check(self) -> None:
        """InvalidInput if options contradict each other or name what is not there."""
        if self.target is not None and self.choice != Choice():
            raise InvalidInput("a target that is an object takes no options of other targets", hint="leave them out")
        check(self.choice)
        if self.choice.image is not None:
            if self.keep_running:
                raise InvalidInput("--keep-running is not for --image", hint="its network has no way in; see its log")
            find_engine()
        if self.as_json and self.as_ndjson:
            raise InvalidInput("--json and --ndjson exclude each other", hint="--ndjson ends with the summary")
        if self.keep_running and self.repeat > 1:
            raise InvalidInput("--keep-running is for a single run", hint="leave out --repeat")
        if self.turns < 2:
            raise InvalidInput("--turns is at least 2", hint="for example --turns 20")
        patience_of(self.timeout)
        if self.junit is not None:
            try:
                self.junit.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidInput(
                    f"there can be no folder {self.junit.parent}: {error.strerror}", hint="see --junit"
                ) from None

    def prepare(self, tell: Tell = lambda _: None) -> None:
        """What the first run of a target has to wait for; nothing of it counts as time of a run."""
        prepare(self.choice, tell)

    def target_in(self, folder: Path, tell: Tell = lambda _: None) -> Target:
        """The target, whose data and logs go into the folder; what takes a while before it starts is told."""
        return self.target or choose(self.choice, folder, self.timeout, self.credentials, tell)


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Names that were given as a list, with commas, or both; each once."""
    words = [given] if isinstance(given, str) else given or ()
    return tuple(dict.fromkeys(name.strip() for word in words for name in word.split(",") if name.strip()))


def _shown(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as they were written, without the values of headers."""
    shown = dict(arguments)
    if shown.get("header"):
        shown["header"] = [f"{given.partition(':')[0]}: {HIDDEN}" for given in shown["header"]]
    if shown.get("headers"):
        shown["headers"] = dict.fromkeys(shown["headers"], HIDDEN)
    return shown

"""What the proof of a runtime can be asked for: one type for `holdfast prove` and for `holdfast.prove.prove`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypedDict

from holdfast.core.errors import InvalidInput
from holdfast.prove.options import ARTIFACTS, ProverOptions
from holdfast.prove.runtime.own_proofs import with_own
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import catalogue, select
from holdfast.prove.runtime.stage import patience_of
from holdfast.prove.targets import Choice, Target, check, choose
from holdfast.prove.wire.envelopes import WireVersion

AS_THEY_ARE = ("seed", "timeout", "repeat", "keep_running", "quiet", "as_json", "as_ndjson")


class ProveArguments(TypedDict, total=False):
    """What a program can ask for, with the names and the meaning of the command line's options.

    `target` is a name such as `broken:memory-only`, or an object that fulfils `Target`. `proofs` are more proofs: files
    that have some, or proofs themselves.
    """

    target: str | Target
    url: str
    command: str
    port: int
    store: str
    workspace: Path | str
    restart_command: str
    probe_command: str
    proofs: Sequence[Proof | Path | str]
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
    wire: WireVersion = WireVersion.V1_0
    timeout: float = 30.0
    repeat: int = 1
    junit: Path | None = None
    keep_running: bool = False
    quiet: bool = False
    as_ndjson: bool = False

    @classmethod
    def of(cls, only: Sequence[str], given: Mapping[str, Any], arguments: Mapping[str, Any]) -> Self:
        """The options in what was given by name; what is missing, or None, is as usual."""
        named = given.get("target")
        is_name = isinstance(named, str)
        workspace, junit = given.get("workspace"), given.get("junit")
        return cls(
            only=tuple(only),
            choice=Choice(
                url=given.get("url"),
                command=given.get("command"),
                name=named if is_name else None,
                port=given.get("port"),
                store=given.get("store"),
                workspace=None if workspace is None else Path(workspace).resolve(),
                restart_command=given.get("restart_command"),
                probe_command=given.get("probe_command"),
            ),
            target=None if is_name else named,
            proofs=tuple(each if isinstance(each, Proof) else Path(each) for each in given.get("proofs") or ()),
            wire=WireVersion(given.get("wire") or WireVersion.V1_0),
            artifacts=Path(given.get("artifacts") or ARTIFACTS).resolve(),
            junit=None if junit is None else Path(junit).resolve(),
            arguments=arguments,
            **{name: given[name] for name in AS_THEY_ARE if given.get(name) is not None},
        )

    def selected(self) -> list[Proof]:
        """The proofs that are asked for and what they need; InvalidInput if one is not known."""
        return select(with_own(catalogue(), self.proofs), self.only)

    def check(self) -> None:
        """InvalidInput if options contradict each other or name what is not there."""
        if self.target is not None and self.choice != Choice():
            raise InvalidInput("a target that is an object takes no options of other targets", hint="leave them out")
        check(self.choice)
        if self.as_json and self.as_ndjson:
            raise InvalidInput("--json and --ndjson exclude each other", hint="--ndjson ends with the summary")
        if self.keep_running and self.repeat > 1:
            raise InvalidInput("--keep-running is for a single run", hint="leave out --repeat")
        patience_of(self.timeout)
        if self.junit is not None:
            try:
                self.junit.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidInput(
                    f"there can be no folder {self.junit.parent}: {error.strerror}", hint="see --junit"
                ) from None

    def target_in(self, folder: Path) -> Target:
        """The target, whose data and logs go into the folder."""
        return self.target or choose(self.choice, folder, self.timeout)

"""The options of `holdfast prove service`, checked before anything starts."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from holdfast.core.errors import InvalidInput
from holdfast.prove.options import ARTIFACTS, ProverOptions, absolute
from holdfast.prove.publication import NOTHING, Publication
from holdfast.prove.service.broken.expected import KINDS
from holdfast.prove.service.programs import PROGRAMS

ONE_EACH = "one-each"
RANDOM = "random"
NONE = "none"
KILLS = (ONE_EACH, RANDOM, NONE)
BROKEN = "broken:"
AS_THEY_ARE = ("compose", "timeout", "quiet", "as_json", "as_ndjson", "kills", "seed", "cases")
CONTRACT = Path("apps") / "README.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions(ProverOptions):
    """Where the programs are, how they are run, who is killed, and how the result is shown.

    `only` names programs; `broken` is the kind of defect that something has on purpose.
    """

    checkout: Path
    compose: bool = False
    kills: str = ONE_EACH
    cases: int = 6
    broken: str | None = None
    timeout: float = 180.0
    junit: Path | None = None
    publication: Publication = NOTHING
    quiet: bool = False
    as_ndjson: bool = False

    @classmethod
    def of(cls, only: tuple[str, ...], given: Mapping[str, Any], arguments: Mapping[str, Any]) -> Self:
        """The options as the command line has them; InvalidInput if one is wrong."""
        junit = given.get("junit")
        made = cls(
            only=only,
            checkout=_checkout(given.get("checkout")),
            broken=_kind(given.get("target")),
            junit=None if junit is None else absolute(junit, "--junit"),
            publication=Publication.of(given),
            artifacts=absolute(given.get("artifacts") or ARTIFACTS, "--artifacts"),
            arguments=arguments,
            **{name: given[name] for name in AS_THEY_ARE if given.get(name) is not None},
        )
        known = [program.name for program in PROGRAMS]
        for name in only:
            if name not in known:
                raise InvalidInput(f"there is no program {name!r:.80}", hint=f"--only names some of {', '.join(known)}")
        if made.as_json and made.as_ndjson:
            raise InvalidInput("--json and --ndjson exclude each other", hint="--ndjson ends with the summary")
        if made.compose and made.broken:
            raise InvalidInput("--target is broken as a process", hint="leave out --compose")
        return made


def _checkout(named: Path | None) -> Path:
    """The checkout that has the programs: the one named, the current folder, or the one that this file is in."""
    here = Path(__file__).resolve()
    places = [named] if named is not None else [Path.cwd(), *here.parents[4:5]]
    for place in places:
        with suppress(OSError, ValueError):  # a name that no folder can have
            if (place / CONTRACT).exists():
                return absolute(place, "--checkout")
    raise InvalidInput(
        f"there are no programs in {os.fspath(places[0])}",
        hint="name a checkout of Holdfast, which has the folder apps, with --checkout DIR",
    )


def _kind(target: str | None) -> str | None:
    """The kind of what is broken; InvalidInput if there is none."""
    if target is None:
        return None
    kind = target.removeprefix(BROKEN)
    if not target.startswith(BROKEN) or kind not in KINDS:
        raise InvalidInput(f"there is no target {target!r:.80}", hint=", ".join(BROKEN + each for each in KINDS))
    return kind

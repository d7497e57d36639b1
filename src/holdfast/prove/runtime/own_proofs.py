"""Proofs of your own: from a file (`--proofs FILE.py`), or from an installed package (entry point `holdfast.proofs`).

They have the form of ours: a module with a `PROOF`, or with several as `PROOFS`. They come after ours, and may need
ours and those of their own that come before them. A name that is taken is refused, so a verdict is about one claim.
"""

import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import get_args

from holdfast.core.errors import InvalidInput
from holdfast.prove.runtime.prerequisites import PREREQUISITES
from holdfast.prove.runtime.proof import Profile, Proof

GROUP = "holdfast.proofs"
PROFILES: tuple[str, ...] = get_args(Profile)
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
HINT = "it must define PROOF = Proof(…), or PROOFS, a list of them"


def with_own(ours: Mapping[str, Proof], own: Iterable[Proof | Path] = ()) -> dict[str, Proof]:
    """Our proofs, those of installed packages and those given, by name; InvalidInput if they do not fit together."""
    proofs, sources = dict(ours), {proof.name: "holdfast" for proof in (*PREREQUISITES, *ours.values())}
    for source, proof in (*_installed(), *_given(own)):
        if not NAME.fullmatch(proof.name):
            raise InvalidInput(f"{source} has a proof named {proof.name!r}", hint="write it in-small-letters")
        if proof.name in sources:
            raise InvalidInput(
                f"{source} has a proof named {proof.name}, and so has {sources[proof.name]}",
                hint="give it another name",
            )
        if lacking := [need for need in proof.needs if need not in sources]:
            raise InvalidInput(
                f"{proof.name} of {source} needs {', '.join(lacking)}, which is not there",
                hint="a proof that is needed comes before those that need it",
            )
        if (proof.power is None) != (proof.after is None):
            raise InvalidInput(f"{proof.name} of {source} has only one of `power` and `after`", hint="it takes both")
        if proof.profile not in PROFILES:
            raise InvalidInput(
                f"{proof.name} of {source} has the profile {proof.profile!r}, which is not there",
                hint=f"one of {', '.join(PROFILES)}",
            )
        if proof.power is None and (proof.alone or proof.cut or proof.times != 1):
            raise InvalidInput(
                f"{proof.name} of {source} has `alone`, `times` or `cut` without a `power`",
                hint="they say how the target is restarted: give it a `power` and `after`, or leave them out",
            )
        if proof.after_kill is not None and proof.power != "stop":
            raise InvalidInput(
                f"{proof.name} of {source} has `after_kill` without being stopped first",
                hint='it takes power="stop" and `after`; with power="kill", `after` comes after the kill',
            )
        if late := [need for need in proof.needs if need in proofs and not proofs[need].known_before(proof)]:
            raise InvalidInput(
                f"{proof.name} of {source} needs {', '.join(late)}, which is known only after it has begun",
                hint="a proof may need those without a restart, and one that is killed those that are stopped",
            )
        proofs[proof.name], sources[proof.name] = proof, source
    return proofs


def _given(own: Iterable[Proof | Path]) -> Iterator[tuple[str, Proof]]:
    for given in own:
        if isinstance(given, Proof):
            yield "a proof that was given", given
        else:
            yield from ((str(given), proof) for proof in _proofs_in(_load(given), str(given)))


def _installed() -> Iterator[tuple[str, Proof]]:
    for entry in entry_points(group=GROUP):
        source = f"{entry.dist.name if entry.dist else 'a package'} ({entry.value})"
        try:
            loaded = entry.load()
        except Exception as error:
            raise InvalidInput(f"the proofs of {source} cannot be loaded: {_in_words(error)}") from error
        yield from ((source, proof) for proof in _proofs_in(loaded, source))


def _load(path: Path) -> object:
    """The module in a file. It may import what lies beside it."""
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}", hint="write --proofs folder/file.py")
    spec = importlib.util.spec_from_file_location(f"proofs_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path} is not a Python file", hint="write --proofs folder/file.py")
    module = importlib.util.module_from_spec(spec)
    beside = str(path.resolve().parent)
    if beside not in sys.path:
        sys.path.insert(0, beside)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidInput(f"{path} cannot be loaded: {_in_words(error)}") from error
    return module


def _proofs_in(loaded: object, source: str) -> list[Proof]:
    """A proof is one itself; of a module, and of a list, the proofs that are in it."""
    inside = loaded if isinstance(loaded, Proof | list | tuple) else getattr(loaded, "PROOFS", None)
    if inside is None:
        inside = getattr(loaded, "PROOF", None)
    candidates = list(inside) if isinstance(inside, list | tuple) else [inside]
    found = [proof for proof in candidates if isinstance(proof, Proof)]
    if not found or len(found) != len(candidates):
        raise InvalidInput(f"there is no proof in {source}", hint=HINT)
    return found


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

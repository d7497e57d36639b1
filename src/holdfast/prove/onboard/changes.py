"""What onboarding changes in a repository: one file, or one block of a file, that carries the hash of what was written.

So a second time changes nothing, a newer version replaces what an older one wrote, and what was edited since, or was
never ours, is refused and not overwritten.
"""

import difflib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.durable_files import write_whole
from holdfast.core.errors import Conflict, InvalidInput
from holdfast.prove.onboard.forges import Forge
from holdfast.prove.onboard.workflow import CHECK, PYTEST

BEGIN = "# >>> written by `holdfast onboard`; run it again to renew it "
END = "# <<< holdfast onboard"
BLOCK = re.compile(
    rf"^{re.escape(BEGIN)}(?P<hash>[0-9a-f]{{12}})\n(?P<text>.*?)^{re.escape(END)}\n", re.DOTALL | re.MULTILINE
)
PYTEST_FILE = "tests/test_session_continuity.py"


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is and as it is to be."""

    repository: Path
    file: str
    before: str | None
    after: str

    @property
    def done(self) -> bool:
        """Whether the file is as it is to be."""
        return self.before == self.after

    @property
    def diff(self) -> str:
        """The change for a reader; empty if there is none."""
        old = (self.before or "").splitlines(keepends=True)
        named = "/dev/null" if self.before is None else f"a/{self.file}"
        return "".join(difflib.unified_diff(old, self.after.splitlines(keepends=True), named, f"b/{self.file}"))

    def make(self) -> None:
        """Write the file, whole or not at all; it can be read by whoever could read it before."""
        path = self.repository / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o644 if self.before is None else path.stat().st_mode & 0o777
        write_whole(path, self.after.encode())
        path.chmod(mode)


def plan(
    repository: Path, forge: Forge, *, dockerfile: str, requirement: str, pytest: bool, force: bool
) -> list[Change]:
    """What is to be changed; InvalidInput if this is no template, Conflict if something there is somebody else's."""
    if not repository.is_dir():
        raise InvalidInput(f"{repository} is not a folder", hint="name a repository's folder")
    if pytest:
        return [_file(repository, PYTEST_FILE, PYTEST, shared=False, force=force)]
    if not re.fullmatch(r"[A-Za-z0-9._/-]+", dockerfile) or not (repository / dockerfile).is_file():
        raise InvalidInput(f"{repository} has no {dockerfile}", hint="name it with --dockerfile, or see --pytest")
    if not re.fullmatch(r"[A-Za-z0-9 ._/:@+,=<>~!\[\]-]+", requirement):
        raise InvalidInput(f"{requirement!r} is nothing that pip understands", hint="for example holdfast==1.2.3")
    others = _others(repository / forge.file) if forge.shared else ""
    if re.search(rf"^[\"']?{re.escape(CHECK)}[\"']?\s*:", others, re.MULTILINE):
        raise Conflict(
            f"{repository / forge.file} has a job {CHECK} that was not written here", hint="take it out, or rename it"
        )
    text = forge.write(dockerfile, requirement, others)
    return [_file(repository, forge.file, text, shared=forge.shared, force=force)]


def _file(repository: Path, file: str, text: str, *, shared: bool, force: bool) -> Change:
    path = repository / file
    if not path.resolve().is_relative_to(repository.resolve()):
        raise InvalidInput(f"{path} leads out of the repository", hint="onboarding follows no link")
    try:
        before = path.read_text() if path.exists() else None
    except UnicodeDecodeError:
        raise Conflict(f"{path} is not text", hint="move it away, or name another repository") from None
    block = f"{BEGIN}{_hash(text)}\n{text}{END}\n"
    if before is None:
        return Change(repository, file, None, block)
    found = BLOCK.search(before)
    if found is not None and _hash(found["text"]) != found["hash"] and not force:
        raise Conflict(f"{path} was edited since it was written", hint="--force writes it anew")
    if found is not None:
        return Change(repository, file, before, before[: found.start()] + block + before[found.end() :])
    if not shared and not force:
        raise Conflict(f"{path} is there and was written by somebody else", hint="--force writes it anew")
    if not shared:
        return Change(repository, file, before, block)
    return Change(repository, file, before, before.rstrip("\n") + "\n\n" + block)


def _others(path: Path) -> str:
    """What is in a file beside what was written here; nothing if it cannot be read."""
    try:
        return BLOCK.sub("", path.read_text())
    except (OSError, UnicodeDecodeError):
        return ""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]

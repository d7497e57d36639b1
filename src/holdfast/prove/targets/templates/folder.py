"""Where templates are, what one is made of, and the venv that it runs in.

They are in the checkout, in `templates`, and in an installed package, in `holdfast/templates`. A template of your own
is a folder with an `agent.py` and a pinned `requirements.txt`.
"""

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

import holdfast
from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.venvs import NODE_FILES, Venv, VenvFailed, digest

PACKAGE = Path(holdfast.__file__).resolve().parent
PLACES = (PACKAGE / "templates", PACKAGE.parents[1] / "templates")
AGENT, REQUIREMENTS = "agent.py", "requirements.txt"
NO_PART = re.compile(r"(^|/)(__pycache__|node_modules)(/|$)|\.pyc$|^(README\.md|workflow\.yml)$")
"""What changes nothing that a template does."""


class TemplateNotInstalled(HoldfastError):
    """What a template needs could not be installed."""

    code: ClassVar[str] = "template_not_installed"
    status: ClassVar[int] = 503


@dataclass(frozen=True, slots=True)
class Template:
    """A template: its name, and its folder."""

    name: str
    folder: Path

    @property
    def agent(self) -> Path:
        """The program."""
        return self.folder / AGENT

    @property
    def venv(self) -> Venv:
        """The venv of this template's pins and this Python, in the user's cache."""
        node = self.folder if all((self.folder / name).is_file() for name in NODE_FILES) else None
        requirements = self.folder / REQUIREMENTS
        pinned = digest(requirements, *(self.folder / name for name in NODE_FILES if node))
        python = f"{sys.implementation.cache_tag}-{sys.platform}"
        return Venv(self.name, cache_folder() / f"{self.name}-{python}-{pinned[:12]}", requirements, node)

    @property
    def digest(self) -> str:
        """One hash for all of its files that it runs by: whatever has the same behaves the same."""
        files = sorted(path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        parts = [path for path in map(str, files) if not NO_PART.search(path)]
        told = "".join(f"{path}\0{sha256((self.folder / path).read_bytes()).hexdigest()}\n" for path in parts)
        return sha256(told.encode()).hexdigest()

    def install(self, tell: Callable[[str], None]) -> None:
        """Make its venv, if it is not there."""
        try:
            self.venv.prepare(tell)
            package_path()
        except (OSError, VenvFailed) as error:
            hint = "it is installed with pip, from where pip is told to look; XDG_CACHE_HOME says where it goes"
            raise TemplateNotInstalled(f"{self.name}: {error}", hint=hint) from error


def cache_folder() -> Path:
    """Where the venvs of templates are."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache").absolute() / "holdfast" / "templates"


def package_path() -> Path:
    """A folder in which Holdfast is, and nothing else: on the path of another venv it brings no other package."""
    place = cache_folder() / f"package-{sha256(str(PACKAGE).encode()).hexdigest()[:12]}"
    link = place / PACKAGE.name
    if not link.is_symlink():
        place.mkdir(parents=True, exist_ok=True)
        fresh = place / f".{os.getpid()}"
        fresh.symlink_to(PACKAGE)
        fresh.replace(link)
    return place


def template_names() -> list[str]:
    """The templates that come with Holdfast."""
    return sorted({path.parent.name for place in PLACES for path in place.glob(f"*/{AGENT}")})


def find_template(given: str) -> Template:
    """The template of this name, or in this folder; InvalidInput names those that there are."""
    places = [Path(given)] if os.sep in given or given in {".", ".."} else [place / given for place in PLACES]
    for folder in places:
        with suppress(OSError):  # a name may be longer than the system takes
            if (folder / AGENT).is_file() and (folder / REQUIREMENTS).is_file():
                return Template(folder.resolve().name, folder.resolve())
    if os.sep in given:
        missing = [name for name in (AGENT, REQUIREMENTS) if not os.path.isfile(places[0] / name)]  # noqa: PTH113
        hint = f"a template is a folder with {AGENT} and {REQUIREMENTS}, and there is no {' and no '.join(missing)}"
    else:
        hint = f"one of {', '.join(template_names())}, or a folder: ./my-template"
    raise InvalidInput(f"there is no template {given!r:.80}", hint=hint)

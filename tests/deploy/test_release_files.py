"""What a release carries is up to date, and says the same version everywhere."""

import importlib.machinery
import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

from holdfast import __version__

ROOT = Path(__file__).parents[2]


def script(name: str) -> ModuleType:
    """A script of ours, as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_man_page_is_what_the_commands_say() -> None:
    assert (ROOT / "docs" / "holdfast.1").read_text() == script("man-page").page(), "run scripts/man-page"


def test_the_bill_of_materials_is_what_is_pinned() -> None:
    assert (ROOT / "sbom.cdx.json").read_text() == script("sbom").bill(), "run scripts/sbom"


def test_the_newest_section_of_the_changes_is_of_this_version() -> None:
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert sections[0] == __version__


def test_another_version_is_not_released() -> None:
    asked = [str(ROOT / "scripts" / "release-files"), "0.0.9"]
    ended = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"the package says {__version__}, not 0.0.9" in ended.stderr

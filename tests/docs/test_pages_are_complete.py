"""What exists is documented, and what the pages point at exists."""

import re
from pathlib import Path

import pytest

from holdfast.cli.doctor import MODES, surroundings
from holdfast.core import errors
from holdfast.gateway.access.scopes import OPEN
from holdfast.gateway.app import create_app
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.runtime.proofs import catalogue
from holdfast.store import open_store
from holdfast.store.health import CHECKS, OPENING

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_every_path_that_contributors_are_sent_to_exists() -> None:
    named = set(re.findall(r"`((?:[\w.-]+/)+(?:[\w-]+\.\w+)?)`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert len(named) > 50
    lost = {path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "src" / "holdfast"))}
    assert lost == set()


def test_every_check_of_doctor_is_on_its_page() -> None:
    page = (ROOT / "docs" / "doctor.md").read_text()
    table = page.split("## The checks")[1].split("\n## ")[0]
    checks = {check.name: "both" if len(check.engines) > 1 else "SQLite" for check in CHECKS}
    everywhere = dict.fromkeys((*OPENING, *surroundings.NAMES), "both")
    assert dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", table, re.M)) == checks | everywhere
    modes = re.findall(r"^\| `([a-z-]+)` \|", page.split("## The older layout")[1], re.M)
    assert sorted(modes) == sorted(MODES)


async def test_every_route_is_on_the_gateways_page(sqlite_url: str) -> None:
    page = (ROOT / "docs" / "gateway.md").read_text()
    async with await open_store(sqlite_url) as store:
        paths = create_app(store).openapi()["paths"]
    for path, operations in paths.items():
        for method in operations:
            assert f"`{method.upper()} {path}`" in page, f"{method.upper()} {path} is not documented"


def test_what_is_open_to_everybody_is_on_the_page_about_security() -> None:
    (row,) = re.findall(r"^\| nothing \| (.*) \|$", (ROOT / "docs" / "security.md").read_text(), re.M)
    assert set(re.findall(r"`GET ([^`]+)`", row)) == OPEN


def test_every_proof_and_every_broken_kind_is_on_the_proofs_page() -> None:
    page = (ROOT / "docs" / "proofs.md").read_text()
    for name in catalogue():
        assert re.search(rf"^\| \[{name}\]\(#{name}\) \|", page, re.M), name
    for kind in KINDS:
        assert f"broken:{kind}" in page, kind


@pytest.mark.parametrize("number", range(1, 11))
def test_every_promise_has_its_page_and_its_test_file(number: int) -> None:
    (page,) = (ROOT / "docs" / "promises").glob(f"{number}-*.md")
    (test,) = (ROOT / "tests" / "promises").glob(f"test_{number}_*.py")
    assert page.stem.replace("-", "_") == test.stem.removeprefix("test_")
    assert f"docs/promises/{page.name}" in (ROOT / "README.md").read_text()


def test_error_codes_are_unique_and_every_refusal_has_a_status() -> None:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.HoldfastError)
    ]
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(400 <= kind.status < 600 for kind in kinds)

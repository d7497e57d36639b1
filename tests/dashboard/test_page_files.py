"""The files of the page: built from what lies in dashboard/, small, and with the types of today's routes."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.gateway.process import running
from tests.support.web import web_client

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "dashboard"
PAGE = ROOT / "src" / "holdfast" / "gateway" / "dashboard"
NODE = ROOT / ".venv-dashboard" / "bin"
MOST = 200_000


def test_all_of_it_is_less_than_200_kb_compressed() -> None:
    files = [each for each in PAGE.rglob("*") if each.is_file()]
    assert sum(len(gzip.compress(each.read_bytes())) for each in files) <= MOST


def test_the_page_has_nothing_inline_and_nothing_from_elsewhere() -> None:
    html = (PAGE / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", html) == []
    assert "<style" not in html and " style=" not in html
    for address in re.findall(r'(?:src|href)="([^"]*)"', html):
        assert address.startswith("/dashboard/assets/")
        assert (PAGE / "assets" / address.rsplit("/", 1)[1]).is_file()


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((SOURCE / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if "integrity" not in package] == []


def test_the_types_are_those_of_the_routes(tmp_path: Path) -> None:
    """If this fails, the routes have changed: `make dashboard` writes the types and builds the page again."""
    with running(tmp_path / "data") as gateway, web_client(base_url=gateway.url) as client:
        document = client.get("/openapi.json").json()
    digest = hashlib.sha256(json.dumps(document, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    first = (SOURCE / "src" / "api" / "schema.d.ts").read_text().partition("\n")[0]
    assert first.endswith(digest)


@pytest.mark.e2e
def test_the_files_are_what_the_source_builds(tmp_path: Path) -> None:
    path = f"{NODE}{os.pathsep}{os.environ['PATH']}"
    if shutil.which("npm", path=path) is None:
        pytest.skip("NOT RUN: the page was not built again, as there is no Node (make dashboard brings one)")
    work = tmp_path / "work"
    shutil.copytree(SOURCE, work / "dashboard", ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(ROOT / "scripts", work / "scripts")
    command = [str(work / "scripts" / "build-dashboard"), str(tmp_path)]
    done = subprocess.run(
        command, env=os.environ | {"PATH": path, "PYTHON": sys.executable}, capture_output=True, text=True, check=False
    )
    if "ENOTFOUND" in done.stderr or "ECONNREFUSED" in done.stderr:
        pytest.skip("NOT RUN: the page was not built again, as no packages can be had here")
    assert done.returncode == 0, done.stderr
    built = {
        str(each.relative_to(tmp_path / "page")): each.read_bytes()
        for each in (tmp_path / "page").rglob("*")
        if each.is_file()
    }
    there = {str(each.relative_to(PAGE)): each.read_bytes() for each in PAGE.rglob("*") if each.is_file()}
    assert built.keys() == there.keys()
    assert built == there
    assert (tmp_path / "schema.d.ts").read_text() == (SOURCE / "src" / "api" / "schema.d.ts").read_text()

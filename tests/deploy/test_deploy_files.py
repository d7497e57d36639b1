"""The files in deploy/ say only what `holdfast serve` understands, and the image is made from what is there."""

import re
from pathlib import Path

import click
import httpx2
import pytest

from holdfast.cli.serve import serve
from holdfast.gateway.app import create_app
from holdfast.store import open_store

ROOT = Path(__file__).parents[2]
COMPOSE_ONLY = {"HOLDFAST_IMAGE", "HOLDFAST_PUBLISH"}
"""What the compose file itself asks the environment for."""


def settings() -> set[str]:
    """The environment variables that `serve` reads."""
    found: set[str] = set()
    for option in serve.params:
        assert isinstance(option, click.Option)
        names = option.envvar or ()
        found |= {names} if isinstance(names, str) else set(names)
    return found


def test_every_setting_in_deploy_is_one_of_serves() -> None:
    for name in ("Dockerfile", "compose.yml"):
        used = set(re.findall(r"HOLDFAST_[A-Z0-9_]+", (ROOT / "deploy" / name).read_text()))
        assert used - settings() <= COMPOSE_ONLY, name
    assert "--token-file" in {flag for option in serve.params for flag in option.opts}


def copied(dockerfile: Path) -> set[str]:
    """What an image takes from the checkout."""
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile.read_text(), re.MULTILINE)
    return {name for line in lines for name in line.split()}


def test_images_are_made_from_files_that_are_there_and_let_in() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    dockerfiles = [path for folder in ("deploy", "apps", "templates") for path in (ROOT / folder).rglob("Dockerfile")]
    used: set[str] = set()
    for dockerfile in dockerfiles:
        for name in copied(dockerfile):
            place = {name, *map(str, Path(name).parents)} & let_in
            assert place and ".venv" not in name, f"{dockerfile} copies {name}"
            assert "$" in name or (ROOT / name).exists(), f"{dockerfile} copies {name}"
            used |= place
    assert used == let_in


def test_the_image_installs_pinned_and_hashed_requirements_and_runs_as_nobody_special() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    assert "--require-hashes -r requirements/run.txt" in text
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    assert "/health" in text


async def offered(url: str) -> set[str]:
    """The names of all figures that a gateway on this store has."""
    async with await open_store(url) as store:
        transport = httpx2.ASGITransport(create_app(store))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            text = (await client.get("/metrics")).text
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    histograms = [name for name, kind in kinds.items() if kind == "histogram"]
    return {*kinds, *(name + part for name in histograms for part in ("_bucket", "_count", "_sum"))}


@pytest.mark.parametrize("name", ["alerts.yml", "grafana-dashboard.json"])
async def test_alerts_and_dashboard_ask_for_figures_that_there_are(
    name: str, sqlite_url: str, postgres_url: str
) -> None:
    asked = set(re.findall(r"\bholdfast_[a-z_]+", (ROOT / "deploy" / name).read_text()))
    assert len(asked) > 15
    assert asked <= await offered(sqlite_url) | await offered(postgres_url)

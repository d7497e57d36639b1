"""The files in deploy/ say only what `holdfast serve` understands, and the image is made from what is there."""

import re
from pathlib import Path

import click

from holdfast.cli.serve import serve

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
        used = set(re.findall(r"HOLDFAST_[A-Z_]+", (ROOT / "deploy" / name).read_text()))
        assert used - settings() <= COMPOSE_ONLY, name
    assert "--token-file" in {flag for option in serve.params for flag in option.opts}


def test_the_image_is_made_from_files_that_are_there_and_let_in() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "deploy" / "Dockerfile").read_text(), re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    assert names == let_in
    assert all((ROOT / name).exists() for name in names)


def test_the_image_installs_pinned_and_hashed_requirements_and_runs_as_nobody_special() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    assert "--require-hashes -r requirements/run.txt" in text
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    assert "/health" in text

"""Cells of the matrix that are really run: templates without packages, proven and recorded, and never run twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.matrix.page import BEGIN, END
from tests.prove.prover import gone
from tests.support.eventually import wait_until
from tests.support.resumable import CHECKOUT

STRANGER = CHECKOUT / "tests" / "prove" / "stranger.py"
HONEST = f"""\
import os, runpy, sys
sys.argv = ["stranger", os.environ["PORT"], os.environ["DATA"] + "/said"]
runpy.run_path({str(STRANGER)!r}, run_name="__main__")
"""
NO_MODEL = "import sys; raise SystemExit(f'no model was named: {sys.prefix}')"
SLEEPY = "import os, pathlib, time; pathlib.Path({!r}).write_text(f'{{os.getpid()}}.'); time.sleep(600)"
SECONDS = 120


class Matrix:
    """A matrix of a test's own: its templates, its results and its page."""

    def __init__(self, place: Path) -> None:
        self.place, self.docs, self.evidence = place, place / "docs", place / "evidence"
        self.docs.mkdir()
        (self.docs / "matrix.md").write_text(f"{BEGIN}\n{END}\n")
        (self.docs / "matrix.toml").touch()
        self.results = self.docs / "matrix.jsonl"

    def template(self, name: str, agent: str) -> Path:
        folder = self.place / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.py").write_text(agent)
        (folder / "requirements.txt").touch()
        return folder

    def start(self, *templates: Path, more: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        words = ["-m", "tests.matrix", "--docs", str(self.docs), "--evidence", str(self.evidence), "--timeout", "5"]
        only = ["--only", ",".join(map(str, templates)), "--part", "catalogue", *more]
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.place / "cache")}
        return subprocess.Popen([sys.executable, *words, *only], stderr=subprocess.PIPE, text=True, env=environment)

    def run(self, *templates: Path, more: tuple[str, ...] = ()) -> tuple[int, str]:
        """The exit code, and what was told."""
        with self.start(*templates, more=more) as process:
            _, said = process.communicate(timeout=SECONDS)
        return process.returncode, said

    def lines(self) -> list[dict[str, Any]]:
        """The results so far."""
        return [json.loads(line) for line in self.results.read_text().splitlines()] if self.results.exists() else []


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    """A matrix without results."""
    return Matrix(tmp_path)


@pytest.mark.long(seconds=15)
def test_a_template_is_proven_recorded_and_published_and_not_run_twice(matrix: Matrix) -> None:
    folder = matrix.template("mine", HONEST)
    code, said = matrix.run(folder, more=("--seed", "5"))
    assert code == 0, said
    (line,) = matrix.lines()
    assert (line["template"], line["runtime"], line["seed"], line["verdict"]) == ("mine", "stranger 1", 5, "disproven")
    assert line["tried"]["crash"] == "proven" and line["tried"]["memory"] == "disproven"
    memory = next(each for each in line["unproven"] if each["name"] == "memory")
    assert memory["history"][0].startswith("remember: “Please use the memory tool")
    assert str(matrix.place) not in matrix.results.read_text()
    assert "not judged yet: mine, memory (catalogue)" in said
    assert "### mine: memory" in (matrix.docs / "matrix.md").read_text()
    assert "mine, crash: proven" in (matrix.docs / "matrix.svg").read_text()
    assert (matrix.evidence / "mine-catalogue" / "prove" / "latest" / "report.html").exists()

    assert "0 of 1 cells are left, seed 5" in matrix.run(folder)[1]


@pytest.mark.long(seconds=15)
def test_a_matrix_that_is_killed_goes_on_with_what_it_had_not_ended(matrix: Matrix) -> None:
    """The first one cannot be run at all, which is told and is no verdict about it."""
    pid = matrix.place / "pid"
    templates = (
        matrix.template("brief", NO_MODEL),
        matrix.template("sleepy", SLEEPY.format(str(pid))),
    )
    with matrix.start(*templates, more=("--timeout", "100")) as process:
        wait_until(lambda: pid.exists() and pid.read_text().endswith("."))
        process.kill()
    agent = int(pid.read_text()[:-1])
    wait_until(lambda: gone(agent))
    assert [(line["template"], line["verdict"]) for line in matrix.lines()] == [("brief", "fault")]
    assert "no model was named: …/brief-" in matrix.lines()[0]["fault"]
    assert str(matrix.place) not in matrix.results.read_text()

    matrix.template("sleepy", NO_MODEL)
    code, said = matrix.run(*templates)
    assert code == 2 and "2 of 2 cells are left" in said and "FAULT" in said
    assert [line["template"] for line in matrix.lines()] == ["brief", "brief", "sleepy"]


def test_a_template_that_there_is_not_is_named_before_anything_is_run(matrix: Matrix) -> None:
    code, said = matrix.run(Path("telepathy"))
    assert code == 2 and "there is no template 'telepathy'; one of" in said
    assert not matrix.results.exists()


def test_two_templates_of_one_name_are_refused(matrix: Matrix) -> None:
    one, other = matrix.template("mine", HONEST), matrix.template("other/mine", HONEST)
    code, said = matrix.run(one, other)
    assert code == 2 and "have the same name" in said
    assert not matrix.results.exists()


def test_a_matrix_that_is_stopped_takes_its_run_along(matrix: Matrix) -> None:
    pid = matrix.place / "pid"
    with matrix.start(matrix.template("sleepy", SLEEPY.format(str(pid))), more=("--timeout", "100")) as process:
        wait_until(lambda: pid.exists() and pid.read_text().endswith("."))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    wait_until(lambda: gone(int(pid.read_text()[:-1])))
    assert matrix.lines() == []

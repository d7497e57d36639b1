"""What `pip install holdfast` gives a newcomer: the commands of the README, and a hint for what is optional."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.snippets import Snippet, run_as_printed, snippets

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as it is released."""
    return built(tmp_path_factory.mktemp("wheel"), "wheel")


def built(folder: Path, kind: str, source: Path = ROOT) -> Path:
    """The wheel or the sdist of a source tree."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (file,) = folder.glob("holdfast-*.whl" if kind == "wheel" else "holdfast-*.tar.gz")
    return file


def installed(wheel: Path, folder: Path, python: Path) -> Path:
    """The commands of a clean venv with the wheel and what it asks for, at the versions that we test with."""
    pins = re.findall(r"^[a-z0-9._-]+==\S+", (ROOT / "requirements" / "run.txt").read_text(), re.M)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pins))
    venv = folder / "venv"
    subprocess.run([python, "-m", "venv", venv], check=True)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--constraint", constraints, wheel], check=True)
    return venv / "bin"


def newer_python() -> Path | None:
    """The newest Python that we promise to run on and that this machine has beside the one that runs the tests."""
    candidate: Path
    for minor in range(14, sys.version_info.minor, -1):
        managed = Path("~/.pyenv/versions").expanduser().glob(f"3.{minor}.*/bin/python3")
        on_path = shutil.which(f"python3.{minor}")
        for candidate in (*([Path(on_path)] if on_path else ()), *sorted(managed, reverse=True)):
            if subprocess.run([candidate, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
                return candidate
    return None


@pytest.fixture(scope="module", params=["this Python", "a newer Python"])
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The commands of the wheel."""
    python = Path(sys.executable) if request.param == "this Python" else newer_python()
    if python is None:
        pytest.skip("NOT RUN: this machine has no newer Python")
    return installed(wheel, tmp_path_factory.mktemp("clean"), python)


@pytest.fixture
def gateway_url(bin_folder: Path, tmp_path: Path) -> Iterator[str]:
    """A gateway of that venv."""
    command = [str(bin_folder / "holdfast"), "serve", "--port", "0", "--data", str(tmp_path / "data"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
    assert process.returncode == 0


def test_the_gateway_serves(gateway_url: str) -> None:
    body = json.dumps({"type": "note", "details": {"text": "hello"}}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{gateway_url}/api/actions/s1", body, headers)
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["seq"] == 1
    with urllib.request.urlopen(f"{gateway_url}/metrics") as answer:
        assert b"holdfast_events_appended_total 1.0" in answer.read()


def test_the_dashboard_is_in_the_wheel(gateway_url: str) -> None:
    asked = urllib.request.Request(gateway_url, headers={"Accept": "text/html"})
    with urllib.request.urlopen(asked) as answer:
        page = answer.read().decode()
    names = re.findall(r'(?:src|href)="(/dashboard/assets/[^"]+)"', page)
    assert names
    for name in names:
        with urllib.request.urlopen(gateway_url + name) as answer:
            assert answer.read()


def test_the_bundled_runtime_is_proven(bin_folder: Path, tmp_path: Path) -> None:
    command = [str(bin_folder / "holdfast"), "prove", "--only", "name,crash"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "PROVEN" in ended.stdout


@pytest.mark.parametrize("command", [["db", "status"], ["serve", "--port", "0"], ["sessions", "ls"]])
def test_what_is_optional_says_how_to_install_it(bin_folder: Path, tmp_path: Path, command: list[str]) -> None:
    ended = subprocess.run(
        [str(bin_folder / "holdfast"), *command, "--store", "postgresql://localhost/holdfast"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert "hint: pip install 'holdfast[postgres]'" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "snippet", [each for each in snippets() if each.name.startswith("README")], ids=lambda s: s.name
)
def test_the_tour_works_from_the_wheel(bin_folder: Path, tmp_path: Path, snippet: Snippet) -> None:
    run_as_printed(snippet, tmp_path, bin_folder)


def test_the_manual_and_the_bill_of_materials_are_in_the_wheel(bin_folder: Path) -> None:
    manual = bin_folder.parent / "share" / "man" / "man1" / "holdfast.1"
    assert manual.read_text() == (ROOT / "docs" / "holdfast.1").read_text()
    (bill,) = bin_folder.parent.glob("lib/python3.*/site-packages/holdfast-*.dist-info/sboms/sbom.cdx.json")
    named = {part["name"] for part in json.loads(bill.read_text())["components"]}
    frozen = subprocess.run([bin_folder / "python", "-m", "pip", "freeze"], capture_output=True, text=True, check=True)
    there = {line.partition("==")[0].lower().replace("_", "-") for line in frozen.stdout.splitlines()}
    assert there - named <= {each for each in there if each.startswith("holdfast")}


def test_the_plugin_for_claude_code_is_in_the_wheel(bin_folder: Path) -> None:
    said = subprocess.run([bin_folder / "holdfast", "hook", "--plugin"], capture_output=True, text=True, check=True)
    folder = Path(said.stdout.strip())
    assert folder.is_relative_to(bin_folder.parent.resolve())
    (listed,) = json.loads((folder / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    hooks = json.loads((folder / listed["source"] / "hooks" / "hooks.json").read_text())
    assert "SessionEnd" in hooks["hooks"] and (folder / listed["source"] / "scripts" / "hook").is_file()


def test_the_templates_are_in_the_wheel(bin_folder: Path) -> None:
    said = subprocess.run(
        [bin_folder / "holdfast", "prove", "--template", "?"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    names = sorted(path.parent.name for path in ROOT.glob("templates/*/agent.py"))
    assert f"one of {', '.join(names)}, or a folder" in said.stderr
    (folder,) = bin_folder.parent.glob("lib/python3.*/site-packages/holdfast/templates")
    for name in names:
        installed, ours = (
            {path.name for path in place.iterdir()} - {"__pycache__"}
            for place in (folder / name, ROOT / "templates" / name)
        )
        assert installed == ours - {"workflow.yml"}


def test_a_release_is_built_the_same_twice(wheel: Path, tmp_path: Path) -> None:
    sdist = built(tmp_path, "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = (each for each in tmp_path.iterdir() if each.is_dir())
    elsewhere = tmp_path / "again"
    assert built(elsewhere, "wheel", source).read_bytes() == wheel.read_bytes()
    assert built(elsewhere, "sdist").read_bytes() == sdist.read_bytes()

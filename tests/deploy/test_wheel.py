"""What `pip install holdfast` gives a newcomer: the commands of the README, and a hint for what is optional."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a clean venv with the built wheel and what it asks for, at the versions that we test with."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("holdfast-*.whl")
    pins = re.findall(r"^[a-z0-9._-]+==\S+", (ROOT / "requirements" / "run.txt").read_text(), re.M)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pins))
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    installer = [str(venv / "bin" / "python"), *pip[1:]]
    subprocess.run([*installer, "install", "--constraint", constraints, wheel], check=True)
    return venv / "bin"


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

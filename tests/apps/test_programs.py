"""What all three programs promise to whoever starts them: options, points, pinned requirements, and a README."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from apps.claude_cli.points import POINTS as CLAUDE_POINTS
from apps.crash_points import CrashPoints
from apps.customer_comm.points import POINTS as CUSTOMER_POINTS
from apps.email_solver.points import POINTS as EMAIL_POINTS

from apps import venv

ROOT = Path(__file__).parents[2]
NAMES = ("claude_cli", "customer_comm", "email_solver")
POINTS = {"claude_cli": CLAUDE_POINTS, "customer_comm": CUSTOMER_POINTS, "email_solver": EMAIL_POINTS}


@pytest.mark.parametrize("name", NAMES)
def test_requirements_are_pinned_hashed_and_name_no_index(name: str) -> None:
    text = venv.requirements_of(name).read_text()
    pins = re.findall(r"^(\S+)==\S+ .*\\$", text, re.MULTILINE)
    assert len(pins) > 20
    assert "--index" not in text and "://" not in text and "--find-links" not in text
    assert text.count("--hash=sha256:") >= len(pins)
    wanted = [line for line in (ROOT / "apps" / name / "requirements.in").read_text().splitlines() if line[0] != "#"]
    assert {each.partition("==")[0] for each in wanted} <= set(pins)


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_page_and_a_place_in_the_contract(name: str) -> None:
    page = (ROOT / "apps" / name / "README.md").read_text()
    assert len(page.splitlines()) <= 60
    contract = (ROOT / "apps" / "README.md").read_text()
    assert f"]({name}/README.md)" in contract
    used = set(re.findall(r'environ(?:\.get\(|\[)"(APP_[A-Z_]+)"', _sources()))
    assert used and all(f"`{variable}`" in contract + _pages() for variable in used)


@pytest.mark.parametrize("name", NAMES)
def test_every_point_is_in_the_program(name: str) -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "apps" / name).glob("*.py") if path.name != "points.py")
    for point in POINTS[name]:
        begins, _, ends = point.partition(":")
        assert f'"{point}"' in source or f'{{step}}:{ends}"' in source or f'at("{ends}")' in source, point
        assert begins and ends


def test_a_point_kills_at_the_time_that_was_asked_for() -> None:
    code = (
        "from apps.crash_points import CrashPoints; points = CrashPoints(('a', 'b'), 'b*2');"
        "[points.reached(each) or print(each, flush=True) for each in 'abab']"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (-signal.SIGKILL, ["a", "b", "a"])


def test_a_point_that_there_is_not_is_refused() -> None:
    with pytest.raises(SystemExit):
        CrashPoints(("a",), "b")


def test_a_venv_is_ready_only_if_it_has_what_the_requirements_ask_for_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_VENVS", str(tmp_path))
    assert not venv.is_ready("claude_cli")
    python = venv.python_of("claude_cli")
    python.parent.mkdir(parents=True)
    python.touch()
    stamp = venv.folder_of("claude_cli") / venv.STAMP
    stamp.write_text(venv.stamp_of("claude_cli"))
    assert venv.is_ready("claude_cli")
    stamp.write_text(venv.stamp_of("customer_comm"))
    assert not venv.is_ready("claude_cli")


def _sources() -> str:
    return "\n".join(path.read_text() for path in (ROOT / "apps").rglob("*.py"))


def _pages() -> str:
    return "\n".join((ROOT / "apps" / name / "README.md").read_text() for name in NAMES)

"""The real command line of Claude Code: what it writes is imported, guarded, found, and given back byte for byte."""

import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.command import answer, run
from tests.support.claude_cli import HELPER, ClaudeCode, program, simulator
from tests.support.guard_kills import main

pytestmark = pytest.mark.e2e


def test_real_sessions_of_every_kind_come_out_as_they_went_in(tmp_path: Path) -> None:
    plain, fork, asking = (str(uuid.uuid4()) for _ in range(3))
    home, data = tmp_path / "home", tmp_path / "data"
    with simulator() as url:
        claude = ClaudeCode(home, url)
        claude.turn("My name is Ada", "--session-id", plain)
        assert "Ada" in claude.turn("What is my name?", "--resume", plain)["result"]
        claude.turn("/compact", "--resume", plain)
        claude.turn("Say cheese", "--resume", plain)
        claude.turn("Say goodbye", "--resume", plain, "--fork-session", "--session-id", fork)
    with simulator(HELPER, tmp_path) as url:
        ClaudeCode(home, url).turn("Have a helper say cheese", "--session-id", asking)
    before = claude.files()
    assert len(before) == 4, "three sessions and a sub-agent"

    done = answer("sessions", "import", str(claude.folder), data=data)
    assert done["refused"] == [] and {plain, fork, asking} < set(done["sessions"])
    (agent,) = set(done["sessions"]) - {plain, fork, asking}
    assert answer("sessions", "show", agent, data=data)["session"]["lineage"]["parentSession"] == asking
    shown = run("sessions", "show", plain, "-n", "500", data=data).stdout
    assert "Nice to meet you, Ada." in shown and "Conversation compacted" in shown
    assert plain in {hit["sessionId"] for hit in answer("sessions", "search", "meet", "Ada", data=data)["hits"]}
    assert answer("sessions", "verify", data=data)["ok"]
    wrote = answer("sessions", "export", "--layout", "source", "-o", str(tmp_path / "out"), data=data)
    assert (wrote["masked"], wrote["rewritten"], wrote["others"]) == ([], [], [])
    assert {name: (tmp_path / "out" / name).read_bytes() for name in before} == before == claude.files()
    assert answer("sessions", "import", str(claude.folder), data=data)["events"] == 0


@pytest.mark.parametrize("engine", [(), ("--postgres",)], ids=["sqlite", "postgresql"])
def test_a_guard_beside_the_command_line_misses_no_line_though_it_is_killed(engine: tuple[str, ...]) -> None:
    program()
    done = CliRunner().invoke(main, ["--kills", "5", "--seed", "1", "--claude", *engine], catch_exceptions=False)
    assert done.exit_code == 0 and "each kept once" in done.output

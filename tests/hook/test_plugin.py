"""The plugin of Claude Code: its parts fit each other and the package, and its script breaks nothing."""

import json
import os
import re
import subprocess
from pathlib import Path

from tests.cli.command import run

from holdfast import __version__

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "claude_code"
PAGE = (ROOT / "docs" / "claude-code.md").read_text()


def script(event: str, said: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The plugin's script as Claude Code runs it."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), **variables}
    return subprocess.run(
        ["/bin/sh", PLUGIN / "scripts" / "hook", event],
        input=said,
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_parts_of_the_plugin_are_of_one_release() -> None:
    about = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((ROOT / "integrations" / ".claude-plugin" / "marketplace.json").read_text())
    assert about["version"] == __version__
    (listed,) = market["plugins"]
    assert (listed["name"], ROOT / "integrations" / listed["source"]) == (about["name"], PLUGIN)
    assert run("hook", "--plugin").stdout.strip() == str(ROOT / "integrations")


def test_every_event_is_reported_by_the_script_and_on_the_page() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    for event, ((inner,),) in ((event, [each["hooks"] for each in found]) for event, found in hooks.items()):
        assert inner["command"] == f'sh "${{CLAUDE_PLUGIN_ROOT}}/scripts/hook" {event}'
        assert f"`{event}`" in PAGE
    assert set(re.findall(r"^\| `(\w+)`", PAGE, re.M)) >= set(hooks) - {"PostToolUseFailure", "StopFailure"}


def test_without_holdfast_the_script_says_so_at_the_start_and_nothing_else(tmp_path: Path) -> None:
    first = script("SessionStart", "{}" * 100_000, tmp_path)
    assert first.returncode == 0 and "not on the PATH" in json.loads(first.stdout)["systemMessage"]
    later = script("Stop", "{}", tmp_path)
    assert (later.returncode, later.stdout, later.stderr) == (0, "", "")


def test_whatever_the_command_does_the_script_ends_with_0_and_runs_no_words_of_a_payload(tmp_path: Path) -> None:
    command = tmp_path / "a folder; touch sprung" / "holdfast"
    command.parent.mkdir()
    command.write_text('#!/bin/sh\ncat > "$HOME/said"\necho "$@" > "$HOME/words"\necho oh no >&2\nexit 2\n')
    command.chmod(0o755)
    said = json.dumps({"session_id": "$(touch sprung)", "prompt": "`touch sprung`; touch sprung\n'\" && touch sprung"})
    ended = script("UserPromptSubmit", said, tmp_path, HOLDFAST_COMMAND=str(command))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "oh no\n")
    assert ((tmp_path / "said").read_text(), (tmp_path / "words").read_text()) == (said, "hook\n")
    assert not (tmp_path / "sprung").exists()


def test_the_script_is_a_program() -> None:
    assert os.access(PLUGIN / "scripts" / "hook", os.X_OK)

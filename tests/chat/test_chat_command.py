"""`holdfast chat` for scripts: one turn, words or JSON, exit codes, and what is refused."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.cli.command import answer, run
from tests.support.eventually import wait_until
from tests.support.processes import PATIENCE, holdfast

from holdfast.chat.model_choice import choose_model
from holdfast.core.errors import InvalidInput
from holdfast.models import AnthropicBackend, OpenAIBackend, SimulatorBackend


def printed(folder: Path, text: str, *options: str) -> Result:
    return run("chat", "--project", str(folder), "--print", text, *options)


@pytest.mark.parametrize("storage", ["file", "store"])
def test_one_turn_after_the_other_is_one_conversation(storage: str, tmp_path: Path) -> None:
    options = [] if storage == "file" else ["--store", f"sqlite:///{tmp_path}/chat.db"]
    first = printed(tmp_path, "My name is Ada.", *options)
    assert (first.exit_code, first.stdout) == (0, "Nice to meet you, Ada.\n")
    second = printed(tmp_path, "What is my name?", "--resume", "last", *options)
    assert second.stdout == "Your name is Ada.\n"
    assert "Ada" not in printed(tmp_path, "What is my name?", *options).stdout
    assert (tmp_path / ".holdfast" / "sessions").exists() is (storage == "file")


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_turn_of_a_script_in_order(tmp_path: Path, sent: signal.Signals) -> None:
    def stored() -> dict[str, Any] | None:
        paths = list((tmp_path / ".holdfast/sessions").glob("*.json"))
        return json.loads(paths[0].read_bytes()) if paths else None

    with holdfast("chat", "--print", "Slowly count to 4000.", folder=tmp_path) as process:
        wait_until(lambda: (found := stored()) is not None and found["active_turn_phase"] == "assistant")
        process.send_signal(sent)
        assert process.wait(PATIENCE) == 128 + sent
    left = stored()
    assert left is not None
    assert left["active_turn_phase"] is None
    assert left["last_turn_transition_summary"].startswith("assistant -> finalize [recovery]")


def test_json_says_all_that_there_is_to_know(tmp_path: Path) -> None:
    asked = "Append the line 'hi' to the file a.txt"
    told = answer("chat", "--project", str(tmp_path), "--print", asked)
    assert told["status"] == "completed"
    assert told["tools"] == [{"name": "append_file", "asked": "a.txt", "status": "finished"}]
    assert told["checks"] == [{"command": "test -f a.txt", "passed": True}]
    assert told["usage"]["input_tokens"] > 0
    resumed = answer("chat", "--project", str(tmp_path), "--print", "Hello.", "--resume", told["conversation"])
    assert resumed["conversation"] == told["conversation"]
    assert (tmp_path / "a.txt").read_text() == "hi\n"


def test_what_a_script_is_not_allowed_is_refused_and_not_asked(tmp_path: Path) -> None:
    asked = "Append the line 'hi' to the file a.txt"
    told = json.loads(printed(tmp_path, asked, "--json", "--mode", "read-only").stdout)
    assert [each["status"] for each in told["tools"]] == ["refused"]
    assert not (tmp_path / "a.txt").exists()


def test_what_a_cloned_folder_allows_counts_once_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    rules = tmp_path / ".holdfast/permission-rules.json"
    rules.write_text('{"allow":[{"tool":"append_file"}]}')
    asked = ("Append the line 'hi' to the file a.txt", "--json", "--mode", "read-only")

    def statuses(*options: str) -> list[str]:
        return [each["status"] for each in json.loads(printed(tmp_path, *asked, *options).stdout)["tools"]]

    assert "does not count" in printed(tmp_path, "Hello.").stderr
    assert statuses() == ["refused"]
    assert not (tmp_path / "a.txt").exists()
    assert statuses("--trust-rules") == ["finished"]
    assert statuses() == ["finished"]
    assert "does not count" not in printed(tmp_path, "Hello.").stderr
    rules.write_text('{"allow":[{"tool":"append_file"},{"tool":"bash"}]}')
    assert statuses() == ["refused"]
    rules.write_text('{"allow":[{"tool":"append_file"}],"deny":[{"tool":"append_file"}]}')
    assert statuses("--trust-rules") == ["refused"]


def test_an_answer_does_not_drive_the_terminal(tmp_path: Path) -> None:
    done = printed(tmp_path, "Say: \x1b[2Jhello\u202e")
    assert "\x1b" not in done.stdout
    assert "hello" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--json"], "--json is for --print"),
        (["--print", "  "], "there is nothing to say"),
        ([], "a chat needs a terminal"),
        (["--print", "x", "--mode", "alow"], "no permission mode 'alow'"),
        (["--print", "x", "--model", "gpt"], "'gpt' is no model"),
        (["--print", "x", "--model", "anthropic:"], "'anthropic:' is no model"),
        (["--print", "x", "--resume", "last"], "there is no conversation yet here"),
        (["--print", "x", "--resume", "nobody"], "there is no conversation 'nobody' here"),
        (["--print", "x", "--project", "/nowhere"], "there is no folder /nowhere"),
        (["--print", "x", "--key", "mine"], "'mine' is not a key of the gateway's agent"),
        (["--print", "x", "--key", "agent:main:x", "--mode", "allow"], "--mode does not go with --key"),
        (["--print", "x", "--key", "agent:main:x", "--trust-rules"], "--trust-rules does not go with --key"),
        (["--print", "x", "--key", "agent:main:x", "--model", "openai:x"], "--model does not go with --key"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_hint(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("chat", *options)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "variables", "described", "kind"),
    [
        ("sim", {}, "no real model", SimulatorBackend),
        ("openai:gpt-x", {"OPENAI_API_KEY": "k"}, "with the key in OPENAI_API_KEY", OpenAIBackend),
        (
            "openai:m",
            {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
            "m at http://127.0.0.1:1/v1, without",
            OpenAIBackend,
        ),
        ("anthropic:claude-x", {"ANTHROPIC_API_KEY": "k"}, "with the key in ANTHROPIC_API_KEY", AnthropicBackend),
    ],
)
def test_which_model_answers_is_said_and_its_key_is_not(
    model: str, variables: dict[str, str], described: str, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    chosen = choose_model(model)
    assert described in chosen.described
    assert isinstance(chosen.backend, kind)


def test_a_model_without_its_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InvalidInput) as refused:
        choose_model("openai:gpt-x")
    assert "OPENAI_API_KEY" in str(refused.value.hint)


def test_a_wide_mode_of_a_cloned_conversation_counts_once_it_is_said(tmp_path: Path) -> None:
    printed(tmp_path / ".", "Hello.", "--mode", "allow")
    asked = ("Append the line 'hi' to the file .envrc", "--json", "--resume", "last")
    mine = printed(tmp_path, *asked)
    assert [each["status"] for each in json.loads(mine.stdout)["tools"]] == ["finished"]
    (tmp_path / ".envrc").unlink()
    clone = tmp_path.with_name(f"{tmp_path.name}-clone")
    shutil.copytree(tmp_path, clone)
    theirs = printed(clone, *asked)
    assert "note: the conversation was left in mode allow, which does not count" in theirs.stderr
    assert [each["status"] for each in json.loads(theirs.stdout)["tools"]] == ["refused"]
    assert not (clone / ".envrc").exists()
    said = printed(clone, *asked, "--mode", "allow")
    assert "does not count" not in said.stderr
    assert [each["status"] for each in json.loads(said.stdout)["tools"]] == ["finished"]

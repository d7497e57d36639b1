"""Whatever is a secret passes into no log, no evidence, no error and no problem: one table for all four."""

import json
import logging
import socket
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.support.secret_cases import HARMLESS, SECRET, TELLING, is_hidden

from holdfast.cli.errors import says_errors
from holdfast.core import redact
from holdfast.core.errors import InvalidInput, NotFound, StaleWriter
from holdfast.core.problem import problem
from holdfast.core.redact import redact_file
from holdfast.gateway.operations.logs import FIELDS, line_of
from holdfast.http.answers import problem_answer
from holdfast.prove import leash
from holdfast.prove.evidence import Evidence

LONG = 4 * 1024 * 1024
MEMORY = 256 * 1024 * 1024
IN_LINES = [text for text in TELLING if "\n" not in text]
IN_SEVERAL = [text for text in TELLING if "\n" in text]


@pytest.mark.parametrize("text", TELLING)
def test_no_log_has_a_secret(text: str) -> None:
    try:
        raise RuntimeError(text)
    except RuntimeError:
        given = logging.LogRecord("holdfast", logging.ERROR, __file__, 1, "%s", (text,), sys.exc_info())
    setattr(given, FIELDS, {"said": text, "nested": [{"said": text}]})
    assert is_hidden(json.dumps(json.loads(line_of(given)), ensure_ascii=False))


@pytest.mark.parametrize("text", TELLING)
def test_no_evidence_has_a_secret(text: str, tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, time.monotonic)
    heard: list[str] = []
    evidence.listen(lambda event: heard.append(str(event)))
    evidence.event("name", "tell", "answer", body={"said": [text]}, said=text)
    evidence.finish({})
    assert is_hidden((tmp_path / "events.jsonl").read_text() + str(heard))


def test_no_log_of_a_target_has_a_secret(tmp_path: Path) -> None:
    """The leash hides them, in a Python that finds no packages."""
    log, words = tmp_path / "target.log", tmp_path / "words"
    words.write_text("\n".join((*HARMLESS, *IN_LINES, *IN_SEVERAL, "-----END-----", "the end\n")))
    ours, theirs = socket.socketpair()
    leashed = [sys.executable, "-I", "-S", leash.__file__, str(theirs.fileno()), str(log), "cat", str(words)]
    with ours, theirs, log.open("wb") as out:
        subprocess.run(leashed, stdout=out, pass_fds=[theirs.fileno()], timeout=60, check=True)
    kept = log.read_text()
    assert is_hidden(kept)
    assert kept.startswith("\n".join(HARMLESS))
    assert kept.endswith("the end\n")


@pytest.mark.parametrize("text", TELLING)
def test_no_error_has_a_secret(text: str) -> None:
    @click.command
    @says_errors
    def command() -> None:
        error = InvalidInput(f"cannot use {text}")
        error.after(text)
        assert is_hidden(str(error) + error.message + repr(error))
        raise error

    shown = CliRunner().invoke(command)
    assert shown.exit_code == 2
    assert shown.output.startswith("error: cannot use ")
    assert is_hidden(shown.output)


@pytest.mark.parametrize("text", TELLING)
def test_no_problem_has_a_secret(text: str) -> None:
    error = InvalidInput(text, reason=text)
    assert is_hidden(str(problem(error)))
    assert is_hidden(str(json.loads(bytes(problem_answer(error).body))))


def test_what_a_writer_missed_is_as_it_was_stored() -> None:
    missed = {"seq": 1, "payload": {"password": SECRET}}
    assert problem(StaleWriter("too late", missed=[missed]))["missed"] == [{"seq": 1, "details": {"password": SECRET}}]


@pytest.mark.parametrize("text", IN_LINES)
def test_no_file_of_lines_has_a_secret(text: str, tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_bytes(b"before \xff\r\n" + text.encode() + b"\nafter, without an end")
    redact_file(path)
    before, _, after = path.read_bytes().split(b"\n")
    assert (before, after) == (b"before \xff\r", b"after, without an end")
    assert is_hidden(path.read_text(errors="replace"))


def test_a_private_key_of_several_lines_is_taken_out_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    key = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n{SECRET}\n-----END PRIVATE KEY-----"
    path.write_text(f"before\nkey: {key} after\nlast\nunfinished {key[:60]}" + f"\n{SECRET}" * 10)
    redact_file(path)
    assert is_hidden(path.read_text())
    assert (
        path.read_text()
        == "before\nkey: PRIVATE KEY ***\n after\nlast\nunfinished PRIVATE KEY ***\n… (12 lines of a private key)\n"
    )


def test_what_comes_after_a_key_that_never_ends_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_text("-----BEGIN PRIVATE KEY-----\n" + "line\n" * redact.LONGEST_KEY + "kept\n")
    redact_file(path)
    assert path.read_text() == "PRIVATE KEY ***\n… (400 lines of a private key)\nkept\n"


def test_a_line_that_only_speaks_of_a_key_takes_nothing_with_it(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    rest = "".join(f"12:00:{number} the next line of the log\n" for number in range(10))
    path.write_text(f"ERROR expected -----BEGIN PRIVATE KEY----- in x.pem\n{rest}")
    redact_file(path)
    assert path.read_text() == f"ERROR expected PRIVATE KEY ***\n{rest}"


def test_what_a_program_needs_to_find_again_is_in_a_problem_as_it_was() -> None:
    error = NotFound("there is no session 'support:password:43'", session_id="support:password:43", key="token=17")
    said = problem(error)
    assert (said["sessionId"], said["key"]) == ("support:password:43", "token=17")


def test_what_is_nested_under_a_telling_name_keeps_its_shape() -> None:
    card = {"securitySchemes": {"apiKey": {"type": "apiKey", "n": 1}}, "security": [{"apiKey": []}], "tokens": ["a"]}
    assert redact.redact_fields(card) == {
        "securitySchemes": {"apiKey": {"type": "***", "n": 1}},
        "security": [{"apiKey": []}],
        "tokens": ["***"],
    }


def test_a_line_that_never_ends_is_cut_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    for length in range(9_970, 10_020, 7):
        path.write_text(f"begin {'x ' * (length // 2)}postgresql://me:{SECRET}@db{' y' * 10_000}\nnext\n")
        redact_file(path, longest_line=10_000)
        first, last, end = path.read_text().split("\n")
        assert first.startswith("begin x x")
        assert "characters more" in first
        assert not any(SECRET[:size] in first for size in range(5, len(SECRET)))
        assert (last, end) == ("next", "")


def test_a_hostile_line_of_megabytes_comes_to_its_end(tmp_path: Path) -> None:
    """What is quadratic would take hours for this, and the test would run into its time limit."""
    pieces = (
        "://a:",
        "://a:9/@",
        "password",
        "password=)",
        "cookie",
        "-token",
        "-a-",
        "Bearer .",
        "eyJ.",
        "\\",
        " ",
        "a",
    )
    path = tmp_path / "some.log"
    with path.open("w") as log:
        for piece in pieces:
            log.write(piece * (5_000_000 // len(pieces) // len(piece)) + f" token='{SECRET}' ")
        log.write("\nnext\n")
    redact_file(path)
    assert is_hidden(path.read_text())
    assert path.read_text().endswith("\nnext\n")


@pytest.mark.skipif(sys.platform != "linux", reason="NOT RUN: only Linux limits what a process may map")
def test_a_long_secret_needs_little_memory(tmp_path: Path) -> None:
    """Lines that are one secret from end to end, in a Python that may not have much more memory than such a line."""
    path = tmp_path / "some.log"
    with path.open("w") as log:
        for value in ('"' + "a" * LONG, '"' + "\\" * LONG, '"' + "'" * LONG, "a)" * (LONG // 2), " " * LONG):
            log.write(f"password={value}\n")
        log.write(f"-----BEGIN PRIVATE KEY-----{'-' * LONG}\n")
    limited = (
        f"import resource, runpy; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}));"
        f"runpy.run_path({leash.REDACTOR!r})['redact_file']({str(path)!r})"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", limited], timeout=120, check=True)
    assert path.read_text().count("***") == 5

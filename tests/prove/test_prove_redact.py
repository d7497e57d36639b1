"""No password, token or key reaches the evidence; what is none stays as it was said."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.prove.prover import events, prove

from holdfast import prove as prover
from holdfast.core.redact import redact, redact_value
from holdfast.prove.evidence import MAX_BODY, Evidence, body_for_events
from holdfast.prove.wire.credentials import credentials

SECRET = "aB3dE5fG7hJ9kL1mN3pQ"
TOKEN = "zebra9unicorn7falcon"
NUMBER = "918273645546"


def test_values_are_hidden_by_their_names_too() -> None:
    document = {
        "headers": [{"Authorization": SECRET, "accessToken": SECRET}],
        "token": SECRET,
        "tokens": 12,
        "secret": "",
        12: SECRET,
    }
    assert redact_value(document) == {
        "headers": [{"Authorization": "***", "accessToken": "***"}],
        "token": "***",
        "tokens": 12,
        "secret": "",
        12: SECRET,
    }


def test_passwords_are_taken_out_of_urls() -> None:
    assert redact("--store postgresql://me:s3cret@db/x") == "--store postgresql://me:***@db/x"
    assert redact("http://127.0.0.1:9000/a2a") == "http://127.0.0.1:9000/a2a"


def test_events_are_masked_on_the_way_in_and_to_who_listens(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, time.monotonic)
    heard: list[object] = []
    evidence.listen(lambda event: heard.append(event["body"]))
    evidence.event("name", "tell", "answer", body={"said": f"Bearer {SECRET}"})
    evidence.finish({})
    assert SECRET not in (tmp_path / "events.jsonl").read_text()
    assert heard == [{"said": "Bearer ***"}]


def test_what_has_happened_is_there_although_the_run_may_be_killed_now(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, time.monotonic)
    for number in range(3):
        evidence.event("name", "tell", "answer", body=number)
        lines = (tmp_path / "events.jsonl").read_text().splitlines()
        assert [json.loads(line)["body"] for line in lines] == list(range(number + 1))
    evidence.close()


def test_an_answer_as_deep_as_json_may_be_is_evidence(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, time.monotonic)
    deep = json.loads("[" * 64 + "]" * 64)
    evidence.event("name", "tell", "answer", body=deep)
    evidence.finish({})
    assert json.loads((tmp_path / "events.jsonl").read_text())["body"] == deep


def test_no_secret_of_the_command_line_is_in_the_evidence(tmp_path: Path) -> None:
    line = f"python -c 'raise SystemExit({{port}})' --token {SECRET} postgresql://me:{SECRET}@db/x"
    proved = prove("--command", line, "--only", "name", "--ndjson", artifacts=tmp_path)
    assert proved.exit_code == 2
    assert events(tmp_path)
    folder = (tmp_path / "prove" / "latest").resolve()
    names = ("events.jsonl", "summary.json", "report.html", "junit.xml", "summary.md")
    assert not [name for name in names if SECRET in (folder / name).read_text()]
    assert SECRET not in proved.stdout + proved.stderr


def test_what_is_inside_a_credential_is_masked_too() -> None:
    given = credentials(
        None, ["Cookie: session=abcdefgh12; theme=darkdarkdark", "Authorization: Basic YWRhOmh1bnRlcjIyMjI="]
    )
    assert given.mask("abcdefgh12 hunter2222 ada:hunter2222") == "*** *** ***"


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        (f'{{"said": "{TOKEN}"}}', '{"said": "***"}'),
        (f'{{"said": "{TOKEN[:-1]}\\u006e"}}', '{"said": "***"}'),
        (f'{{"code": {NUMBER}, "n": 1.5, "b": true}}', '{"code": "***", "n": 1.5, "b": true}'),
        (f"<p>{TOKEN} {NUMBER}</p>", "<p>*** ***</p>"),
        ('{ "said":"nothing" }', '{ "said":"nothing" }'),
        ("[" * 5000 + TOKEN, "[" * 5000 + "***"),
    ],
)
def test_credentials_are_taken_out_of_bodies_as_they_come(body: str, masked: str) -> None:
    assert credentials(TOKEN, [f"X-Code: {NUMBER}"]).mask_body(body.encode()) == masked.encode()


def test_a_long_body_is_cut_after_its_secrets_are_out() -> None:
    shown = body_for_events(b"x" * (MAX_BODY - 10) + f" Bearer {SECRET}".encode())
    assert SECRET[:2] not in shown


@pytest.fixture
def url() -> Iterator[str]:
    """A service that answers every call with what is no JSON, and has the token where a reader's line ends."""

    class Careless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b"{}" if self.command == "GET" else b"x" * 191 + TOKEN.encode() * 2
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Careless) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_no_cut_leaves_half_a_credential_in_the_result_or_the_evidence(url: str, tmp_path: Path) -> None:
    result = prover.prove("name", url=url, token=TOKEN, artifacts=tmp_path)
    assert "not JSON" in result.prerequisites[-1].finding.got
    assert TOKEN[:4] not in repr(result)
    files = [file for file in result.folder.rglob("*") if file.is_file()]
    assert not [file.name for file in files if TOKEN[:4] in file.read_text(errors="replace")]


def test_the_result_for_a_program_is_masked_as_the_summary_is(tmp_path: Path) -> None:
    line = f"sh -c 'echo {TOKEN} >&2; exit 3' {{port}}"
    result = prover.prove("name", command=line, token=TOKEN, artifacts=tmp_path)
    assert "***" in result.prerequisites[0].finding.reason
    assert TOKEN not in repr(result)

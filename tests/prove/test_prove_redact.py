"""No password, token or key reaches the evidence; what is none stays as it was said."""

import json
import time
from pathlib import Path

from tests.prove.prover import events, prove

from holdfast.core.redact import redact, redact_value
from holdfast.prove.evidence import Evidence

SECRET = "aB3dE5fG7hJ9kL1mN3pQ"


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

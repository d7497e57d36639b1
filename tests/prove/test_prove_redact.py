"""No password, token or key reaches the evidence; what is none stays as it was said."""

import json
import time
from pathlib import Path

import pytest
from tests.prove.prover import events, prove

from holdfast.prove.evidence import Evidence
from holdfast.prove.redact import hide_passwords, hide_secrets, mask

SECRET = "aB3dE5fG7hJ9kL1mN3pQ"


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{SECRET}@db/x",
        f"postgresql://me:p@{SECRET}@db/x",
        f"Authorization: Bearer {SECRET}",
        f"curl -H 'Authorization: Basic {SECRET}=='",
        f'{{"authorization": "{SECRET}"}}',
        f"bearer.{SECRET}",
        f"x-api-key: {SECRET}",
        f"https://h/v1?api_key={SECRET}&x=1",
        f"serve --token {SECRET}",
        f"serve --api-key={SECRET}",
        f"OPENAI_API_KEY={SECRET} serve",
        f"HOLDFAST_TOKEN={SECRET} serve",
        f'{{"client_secret":"{SECRET}"}}',
        f'"{{\\"password\\":\\"{SECRET}\\"}}"',
        f"sk-proj-{SECRET}",
        f"ghp_{SECRET}",
        f"hf_0123_{SECRET}",
        f"eyJhbGciOiJI.{SECRET}.{SECRET}",
    ],
)
def test_a_secret_is_hidden_and_stays_hidden(text: str) -> None:
    once = hide_secrets(text)
    assert SECRET not in once
    assert "***" in once
    assert hide_secrets(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "Hi, my name is Zq7kfa.",
        "http://127.0.0.1:9000/a2a",
        '{"url":"http://h:80","mail":"a@b"}',
        "canary-ctx-0123456789ab",
        "session_key agent:main:a2a:canary-ctx-0123456789ab",
        "The password is Zq7kfa.",
        "what is the password? and report.",
        "12 tokens, 3 keys",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert hide_secrets(text) == text


def test_values_are_hidden_by_their_names_too() -> None:
    document = {
        "headers": [{"Authorization": SECRET, "accessToken": SECRET}],
        "token": SECRET,
        "tokens": 12,
    }
    assert mask(document) == {
        "headers": [{"Authorization": "***", "accessToken": "***"}],
        "token": "***",
        "tokens": 12,
    }


def test_passwords_are_taken_out_of_urls() -> None:
    assert hide_passwords("--store postgresql://me:s3cret@db/x") == "--store postgresql://me:***@db/x"
    assert hide_passwords("http://127.0.0.1:9000/a2a") == "http://127.0.0.1:9000/a2a"


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

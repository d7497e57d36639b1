"""`holdfast token`: made, listed and revoked, by a command alone and through a gateway that runs."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result
from tests.cli.command import answer, fill, run
from tests.cli.test_terminal import HOSTILE, STYLES, on_terminal
from tests.gateway.holders import bearer
from tests.gateway.process import Running, running
from tests.support.web import LOCAL

from holdfast.cli import main
from holdfast.cli.errors import GatewayRefusal
from holdfast.cli.service import _client

TOKEN = re.compile(r"hf_([a-z2-9]{10})_[\w-]{43}")


def run_with(token: str, *arguments: str) -> Result:
    """A command with a token in its environment."""
    others = {name: None for name in os.environ if name.startswith(("HOLDFAST_", "OPENAI_"))}
    result = CliRunner().invoke(main, list(arguments), env={**others, "HOLDFAST_TOKEN": token})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def status(gateway: Running, token: str | None) -> int:
    return httpx2.get(f"{gateway.url}/api/sessions", headers=bearer(token), **LOCAL).status_code


def test_made_listed_and_revoked_with_nobody_there(tmp_path: Path) -> None:
    """The first token makes the store."""
    data = tmp_path / "new"
    assert run("token", "list", data=data).exit_code == 2
    made = run("token", "create", "ci", "--scope", "write", "--scope", "read", "--expires", "90d", data=data)
    assert made.exit_code == 0
    found = TOKEN.fullmatch(made.stdout.strip())
    assert found is not None
    assert f"token {found[1]} of tenant default: read, write, until 20" in made.stderr
    forever = answer("token", "create", "ops", "--scope", "operator", "--tenant", "acme", data=data)
    assert (forever["described"]["tenant"], forever["described"]["expiresAt"]) == ("acme", None)
    listed = run("token", "list", data=data)
    assert [line.split("\t")[:5] for line in listed.stdout.splitlines()] == [
        [
            found[1],
            f"until {answer('token', 'list', data=data)['tokens'][0]['expiresAt'][:10]}",
            "default",
            "read write",
            "ci",
        ],
        [forever["described"]["tokenId"], "good", "acme", "operator", "ops"],
    ]
    assert run("token", "revoke", found[1], data=data).stderr == f"token {found[1]} (ci) is revoked\n"
    again = answer("token", "revoke", found[0], data=data)
    assert (again["tokenId"], again["valid"]) == (found[1], False)
    assert "revoked 20" in run("token", "list", data=data).stdout
    secret = forever["token"].split("_", 2)[2]
    assert secret not in run("token", "list", "--json", data=data).output
    assert [each["valid"] for each in answer("token", "list", data=data)["tokens"]] == [False, True]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    fill(folder, sessions=("one",))
    for name, arguments in {
        "ops": ["--scope", "operator"],
        "reader": ["--scope", "read"],
        "acme": ["--scope", "admin", "--tenant", "acme"],
        "acme-ops": ["--scope", "operator", "--tenant", "acme"],
    }.items():
        made = run("token", "create", name, *arguments, data=folder)
        (folder / f"{name}.token").write_text(made.stdout.strip())
    return folder


@pytest.fixture(scope="module")
def gateway(data: Path) -> Iterator[Running]:
    with running(data) as made:
        yield made


def token_of(data: Path, name: str) -> str:
    return (data / f"{name}.token").read_text()


def test_through_a_gateway_it_works_at_once(data: Path, gateway: Running) -> None:
    assert status(gateway, None) == 401
    made = answer("token", "create", "new", "--scope", "read", "--tenant", "other", data=data)
    assert (made["described"]["tenant"], status(gateway, made["token"])) == ("other", 200)
    assert answer("token", "revoke", made["described"]["tokenId"], data=data)["valid"] is False
    assert status(gateway, made["token"]) == 401
    assert made["described"]["tokenId"] in run("token", "list", data=data).stdout


def test_on_its_own_machine_commands_need_no_token(data: Path, gateway: Running) -> None:
    assert "one" in run("sessions", "ls", data=data).stdout
    assert "note" in run("sessions", "tail", "one", "--no-follow", data=data).stdout
    elsewhere = run("sessions", "ls", "--url", gateway.url)
    assert (elsewhere.exit_code, "this gateway asks for a token" in elsewhere.stderr) == (2, True)
    assert "hint: send Authorization: Bearer" in elsewhere.stderr
    lock = json.loads((data / "holdfast.lock").read_text())
    assert lock["token"] not in run("serve", "--port", "0", data=data).output


def test_a_command_sends_the_token_in_the_environment(data: Path, gateway: Running) -> None:
    reader = token_of(data, "reader")
    assert "one" in run_with(reader, "sessions", "ls", "--url", gateway.url).stdout
    assert "one" in run_with(f" {reader}\n", "sessions", "ls", "--url", gateway.url).stdout
    refused = run_with(reader, "token", "list", "--url", gateway.url, "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["needs"]) == (2, "operator")
    beside = run_with(reader, "sessions", "tag", "one", "x", "--data", str(data))
    assert (beside.exit_code, "does not have the scope write" in beside.stderr) == (2, True)
    revoked = answer("token", "create", "gone", "--scope", "read", data=data)
    answer("token", "revoke", revoked["described"]["tokenId"], data=data)
    for command in (["ls"], ["tail", "one"], ["export", "-o", str(data / "out")]):
        refused = run_with(revoked["token"], "sessions", *command, "--url", gateway.url)
        assert refused.exit_code == 2
        assert "error: the token is unknown, revoked or expired" in refused.stderr, command
    for wrong in ("two words", "é", "a\x1bb"):
        refused = run_with(wrong, "sessions", "ls", "--url", gateway.url)
        assert (refused.exit_code, "HOLDFAST_TOKEN is not a token" in refused.stderr) == (2, True)
        assert wrong not in refused.output


async def test_a_feed_that_is_refused_says_why(gateway: Running) -> None:
    async with _client(gateway.url, gateway.url, token="wrong") as service:
        with pytest.raises(GatewayRefusal) as refused:
            await anext(service.follow(session="one"))
    assert refused.value.problem["code"] == "unauthorized"


def test_whose_sessions(data: Path, gateway: Running) -> None:
    """A token's own tenant's, unless an operator names another, the default one included."""
    for name in ("acme", "acme-ops"):
        assert run_with(token_of(data, name), "sessions", "ls", "--url", gateway.url).stdout == ""
    named = ["sessions", "ls", "--tenant", "default", "--url", gateway.url]
    assert "one" in run_with(token_of(data, "acme-ops"), *named).stdout
    refused = run_with(token_of(data, "acme"), *named)
    assert (refused.exit_code, "the token is for another tenant" in refused.stderr) == (2, True)
    made = json.loads(
        run_with(
            token_of(data, "acme-ops"), "token", "create", "x", "--scope", "read", "--url", gateway.url, "--json"
        ).stdout
    )
    assert made["described"]["tenant"] == "acme"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "x"], "--scope"),
        (["create", "x", "--scope", "all"], "all"),
        (["create", "--scope", "read"], "NAME"),
        (["create", "", "--scope", "read"], "name"),
        (["create", "n" * 513, "--scope", "read"], ""),
        (["create", "x", "--scope", "read", "--expires", "soon"], "soon"),
        (["create", "x", "--scope", "read", "--expires", "0s"], ""),
        (["create", "x", "--scope", "read", "--expires", "99999w"], ""),
        (["create", "x", "--scope", "read", "--tenant", "a b"], "is not a tenant"),
        (["create", "x", "--scope", "read", "--tenant", "é"], "is not a tenant"),
        (["revoke", "nobody"], "there is no token with this id"),
        (["revoke", "hf_aaaaaaaaaa_" + "s3cret" * 7], "there is no token with this id"),
        (["revoke"], "TOKEN_ID"),
    ],
)
def test_what_cannot_be_done_is_said(data: Path, gateway: Running, arguments: list[str], said: str) -> None:
    refused = run("token", *arguments, data=data)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert "s3cret" not in refused.output


def test_what_a_person_sees(tmp_path: Path) -> None:
    """The state of a token is never what a narrow terminal leaves out, and no name drives it."""
    answer("token", "create", "n" * 200, "--scope", "read", "--scope", "write", data=tmp_path)
    gone = answer("token", "create", HOSTILE, "--scope", "admin", data=tmp_path)["described"]["tokenId"]
    revoked = run("token", "revoke", gone, data=tmp_path)
    assert (revoked.exit_code, "\x1b" in revoked.stderr) == (0, False)
    for columns in (31,):
        code, seen = on_terminal("token", "list", "--data", str(tmp_path), columns=columns)
        plain = STYLES.sub("", seen)
        assert code == 0
        assert "\x1b" not in plain
        assert max(len(line) for line in plain.splitlines()) <= columns
        assert re.search(rf"^{gone}  revoked 20\d\d-\d\d-\d\d", plain, re.M), plain

"""What is said of a run when it is over."""

import io
from pathlib import Path

from tests.prove.folders import outcome, summary

from holdfast.prove.view.terminal import grounds, layers, show


def test_the_layers_say_where_it_broke_only_if_one_did() -> None:
    card = {"name": "card", "state": "ok", "expected": "JSON", "got": "JSON", "curl": ""}
    store = {"name": "store", "state": "broken", "expected": "rows", "got": "none", "curl": "cat log"}
    assert layers([card]) == "\nno layer is broken by itself\n  ok       card\n"
    told = "\nstore\n  expected: rows\n  got:      none\n  show it:  cat log\n"
    assert layers([card, store]) == "\nwhere it broke\n  ok       card\n  broken   store\n" + told
    assert layers([]) == ""


def test_what_was_left_out_is_counted_where_the_verdict_is() -> None:
    told = io.StringIO()
    show(summary(outcome("name"), left_out={"crash": "no", "peer": "no"}), Path("page"), told, quiet=True)
    assert told.getvalue() == "PROVEN in 2.0 s: 1 proven, 2 left out\nreport: page\n"


def test_quiet_says_of_all_that_is_not_proven_what_it_is_and_why() -> None:
    found = (
        outcome("name"),
        outcome("crash", "disproven", reason="it forgot", got="\x1b[2J"),
        outcome("parallel", "inconclusive", reason="no answer", fault=True),
        outcome("restart", "not reached", reason="the run was interrupted"),
        outcome("long", "not reached", reason="the run was interrupted"),
    )
    told = io.StringIO()
    show(summary(*found), Path("page"), told, quiet=True)
    assert told.getvalue() == (
        "\ncrash is disproven: it forgot\n  got:      \\x1b[2J\n"
        "\nparallel is inconclusive: no answer\n"
        "\nnot reached: restart, long (the run was interrupted)\n"
        "\nDISPROVEN in 2.0 s: 1 proven, 1 disproven, 1 inconclusive, 2 not reached\nreport: page\n"
    )


def test_a_reader_who_wants_to_try_a_command_is_told_how() -> None:
    wrong = outcome("crash", "disproven", curl="curl x")
    elsewhere = {"name": "http://h", "command": "", "endpoint": ""}
    again, keep = "commands: holdfast prove --again /somewhere\n", "commands: run again with --keep-running\n"
    for more, told in (
        ({}, again),
        ({"arguments": {"command": "serve {data}"}}, again),
        ({"arguments": {"template": "./my template"}}, "--again /somewhere --template './my template'\n"),
        ({"arguments": {"command": "serve ./data"}}, keep),
        ({"arguments": {"store": "postgresql://h/db"}}, keep),
        ({"runs": []}, keep),
        ({"arguments": {"keep_running": True}}, None),
        ({"target": elsewhere}, None),
        ({"proofs": [outcome("crash", "inconclusive", curl="curl x")]}, None),
    ):
        shown = io.StringIO()
        show(summary(wrong, **more), Path("page"), shown)
        assert told is None or told in shown.getvalue()
        assert ("to try these commands" in shown.getvalue()) is (told is not None)


def test_the_name_of_a_proof_in_foreign_evidence_cannot_draw_on_the_terminal() -> None:
    assert grounds({"name": "crash\x1b[2J", "got": "x"}) == "\ncrash\\x1b[2J\n  got:      x\n"


def test_no_name_can_draw_on_the_terminal() -> None:
    name = "\x1b[2J"
    layer = {"name": name, "state": "ok", "expected": "", "got": "", "curl": ""}
    found = [outcome(name, verdict, hint="look") for verdict in ("disproven", "not reached")]
    for quiet in (False, True):
        told = io.StringIO()
        show(summary(*found, left_out={name: "no"}, layers=[layer]), Path("page"), told, quiet=quiet)
        assert "\x1b" not in told.getvalue()
        assert "\\x1b[2J" in told.getvalue()

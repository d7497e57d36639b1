"""Who may do what: every row is a call of a tool in a project, with its rules and mode, and what is decided."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holdfast.runtime.permissions import RULES_FILE, decide, load_rules

READ, WRITE, DANGER, PROMPT, ALLOW = "read-only", "workspace-write", "danger-full-access", "prompt", "allow"
NEEDS = {
    "read": READ,
    "list_files": READ,
    "write": WRITE,
    "edit": WRITE,
    "append_file": WRITE,
    "save_memory": WRITE,
    "bash": DANGER,
}


@dataclass(frozen=True)
class Case:
    """A call, the rules and the mode it meets, and the outcome with its code."""

    outcome: str
    code: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    mode: str = WRITE
    rules: dict[str, list[dict[str, str]]] | None = None


def at(path: str, **more: str) -> dict[str, Any]:
    return {"file_path": path, **more}


def command(text: str) -> dict[str, Any]:
    return {"command": text}


POWERFUL = {
    "a hook of git is asked about": Case("ask", "mode", "write", at(".git/hooks/pre-commit", content="x")),
    "a hook by a link": Case("ask", "mode", "edit", at("to-git/hooks/pre-commit")),
    "git's settings in a folder below": Case("ask", "mode", "append_file", at("sub/.git/config")),
    "a hook in upper case": Case("ask", "mode", "write", at(".GIT/hooks/pre-commit")),
    "a hook in wide letters": Case("ask", "mode", "write", at(".ｇit/hooks/pre-commit")),
    "a hook with a letter that is not seen": Case("ask", "mode", "write", at(".g\u200bit/hooks/x")),
    "a workflow of a forge": Case("ask", "mode", "write", at(".github/workflows/ci.yml")),
    "what a shell runs": Case("ask", "mode", "write", at(".envrc")),
    "what an editor runs": Case("ask", "mode", "write", at(".vscode/tasks.json")),
    "what Python runs": Case("ask", "mode", "write", at("lib/evil.pth")),
    "a hook may be read": Case("allow", "mode", "read", at(".git/hooks/pre-commit")),
    "read-only changes no hook": Case("deny", "mode", "write", at(".git/hooks/x"), READ),
    "prompt asks about a hook": Case("ask", "mode", "write", at(".git/hooks/x"), PROMPT),
    "danger-full-access writes a hook": Case("allow", "mode", "write", at(".git/hooks/x"), DANGER),
    "allow writes a hook": Case("allow", "mode", "write", at(".git/hooks/x"), ALLOW),
    "a rule for every write allows no hook": Case(
        "ask", "mode", "write", at(".git/hooks/x"), rules={"allow": [{"tool": "write"}]}
    ),
    "a rule for a word in its path allows no hook": Case(
        "ask", "mode", "write", at(".git/hooks/x"), rules={"allow": [{"path_contains": "hooks/x"}]}
    ),
    "a rule for its content allows no hook": Case(
        "ask", "mode", "write", at(".git/hooks/x", content=".git"), rules={"allow": [{"contains": ".git"}]}
    ),
    "a rule that names it allows a hook": Case(
        "allow", "allow_rule", "write", at(".git/hooks/x"), rules={"allow": [{"path_contains": ".git/hooks/x"}]}
    ),
    "a rule denies a hook": Case(
        "deny", "deny_rule", "write", at(".git/hooks/x"), ALLOW, rules={"deny": [{"path_contains": ".git"}]}
    ),
    "a file that is named like one": Case("allow", "mode", "write", at(".gitignore")),
    "a file that speaks of one": Case("allow", "mode", "write", at("docs/git/hooks.md")),
}

BY_MODE = {
    "read-only reads": Case("allow", "mode", "read", at("a.txt"), READ),
    "read-only lists": Case("allow", "mode", "list_files", {"folder": "."}, READ),
    "read-only does not write": Case("deny", "mode", "write", at("a.txt", content="x"), READ),
    "read-only does not edit": Case("deny", "mode", "edit", at("a.txt"), READ),
    "read-only does not remember": Case("deny", "mode", "save_memory", {"key": "k", "value": "v"}, READ),
    "read-only runs no command": Case("deny", "mode", "bash", command("ls"), READ),
    "workspace-write reads": Case("allow", "mode", "read", at("a.txt")),
    "workspace-write writes": Case("allow", "mode", "write", at("a.txt", content="x")),
    "workspace-write remembers": Case("allow", "mode", "save_memory", {"key": "k", "value": "v"}),
    "workspace-write asks for a command": Case("ask", "mode", "bash", command("ls")),
    "workspace-write asks for an unknown tool": Case("ask", "mode", "launch", {}),
    "danger-full-access writes": Case("allow", "mode", "write", at("a.txt"), DANGER),
    "danger-full-access runs a command": Case("allow", "mode", "bash", command("ls"), DANGER),
    "danger-full-access takes an unknown tool": Case("allow", "mode", "launch", {}, DANGER),
    "prompt reads": Case("allow", "mode", "read", at("a.txt"), PROMPT),
    "prompt asks to write": Case("ask", "mode", "write", at("a.txt"), PROMPT),
    "prompt asks for a command": Case("ask", "mode", "bash", command("ls"), PROMPT),
    "prompt asks for an unknown tool": Case("ask", "mode", "launch", {}, PROMPT),
    "allow writes": Case("allow", "mode", "write", at("a.txt"), ALLOW),
    "allow runs a command": Case("allow", "mode", "bash", command("ls"), ALLOW),
    "a mode that does not exist writes nothing": Case("deny", "mode", "write", at("a.txt"), "anything"),
}

PATHS = {
    "a new file": Case("allow", "mode", "write", at("new/deep/a.txt")),
    "an absolute path inside": Case("allow", "mode", "write", at("{root}/a.txt")),
    "an absolute path by a link to the root": Case("allow", "mode", "write", at("{beside}/to-root/a.txt")),
    "the parent": Case("deny", "outside_workspace", "write", at("../a.txt")),
    "the parent, further down": Case("deny", "outside_workspace", "write", at("sub/../../a.txt")),
    "the parent, even if it leads back": Case("deny", "outside_workspace", "write", at("sub/../a.txt")),
    "the parent at the end": Case("deny", "outside_workspace", "read", at("sub/..")),
    "the parent of an absolute path": Case("deny", "outside_workspace", "write", at("{root}/../a.txt")),
    "an absolute path outside": Case("deny", "outside_workspace", "read", at("/etc/passwd")),
    "a folder whose name begins like the root's": Case("deny", "outside_workspace", "write", at("{root}-twin/a.txt")),
    "a link to a file outside": Case("deny", "outside_workspace", "read", at("link-out.txt")),
    "a link to a folder outside": Case("deny", "outside_workspace", "write", at("dir-out/a.txt")),
    "a link to a link outside": Case("deny", "outside_workspace", "write", at("chain/a.txt")),
    "a link to what is not there, outside": Case("deny", "outside_workspace", "write", at("dangling")),
    "a link inside": Case("allow", "mode", "write", at("link-in/a.txt")),
    "links in a circle": Case("deny", "outside_workspace", "write", at("round/a.txt")),
    "an empty path": Case("deny", "outside_workspace", "read", at("")),
    "a null byte": Case("deny", "outside_workspace", "read", at("a\0.txt")),
    "a lone surrogate": Case("deny", "outside_workspace", "write", at("a\ud800.txt")),
    "a name so long that the file system refuses it": Case("allow", "mode", "write", at("x" * 5_000)),
    "dots that only look like the parent": Case("allow", "mode", "write", at("．．/a.txt")),
    "three dots": Case("allow", "mode", "write", at(".../a.txt")),
    "a home that nobody expands": Case("allow", "mode", "write", at("~/a.txt")),
    "full access does not leave the workspace": Case("deny", "outside_workspace", "write", at("../a.txt"), DANGER),
    "allow does not leave the workspace": Case("deny", "outside_workspace", "read", at("link-out.txt"), ALLOW),
    "no rule leads out": Case(
        "deny", "outside_workspace", "write", at("../a.txt"), rules={"allow": [{"tool": "write"}]}
    ),
    "an unknown tool's path": Case("deny", "outside_workspace", "launch", {"path": "../a"}, ALLOW),
    "a folder outside": Case("deny", "outside_workspace", "list_files", {"folder": ".."}),
    "the rules themselves": Case("deny", "own_folder", "write", at(RULES_FILE), ALLOW),
    "the rules in upper case": Case("deny", "own_folder", "write", at(".HOLDFAST/permission-rules.json")),
    "the rules in wide letters": Case("deny", "own_folder", "write", at(".ｈoldfast/x")),
    "the rules with a letter that is not seen": Case("deny", "own_folder", "write", at(".hold\u200bfast/x")),
    "the rules by a link": Case("deny", "own_folder", "edit", at("to-own/permission-rules.json"), DANGER),
    "the rules though a rule allows it": Case(
        "deny", "own_folder", "write", at(".holdfast/dod/x.json"), rules={"allow": [{"path_contains": "dod"}]}
    ),
    "the runtime's folder may be read": Case("allow", "mode", "read", at(".holdfast/x")),
    "a folder that is named like it": Case("allow", "mode", "write", at(".holdfast-notes/a.txt")),
}

SECRET = [{"path_contains": "secret/"}]

RULES = {
    "deny by tool": Case("deny", "deny_rule", "write", at("a.txt"), ALLOW, {"deny": [{"tool": "write"}]}),
    "deny of another tool": Case("allow", "mode", "write", at("a.txt"), rules={"deny": [{"tool": "edit"}]}),
    "deny wins over allow": Case(
        "deny", "deny_rule", "write", at("a.txt"), rules={"allow": [{"tool": "write"}], "deny": [{"tool": "write"}]}
    ),
    "deny wins over ask": Case(
        "deny", "deny_rule", "bash", command("ls"), rules={"ask": [{"tool": "bash"}], "deny": [{"contains": "ls"}]}
    ),
    "ask wins over allow": Case(
        "ask", "ask_rule", "write", at("a.txt"), ALLOW, {"allow": [{"tool": "write"}], "ask": [{"tool": "write"}]}
    ),
    "all three": Case(
        *("deny", "deny_rule", "write", at("a.txt"), ALLOW),
        {kind: [{"tool": "write"}] for kind in ("allow", "ask", "deny")},
    ),
    "allow wins over the mode": Case("allow", "allow_rule", "bash", command("ls"), READ, {"allow": [{"tool": "bash"}]}),
    "allow of one command": Case(
        "allow", "allow_rule", "bash", command("git status"), rules={"allow": [{"tool": "bash", "contains": "git st"}]}
    ),
    "not of another": Case(
        "ask", "mode", "bash", command("rm x"), rules={"allow": [{"tool": "bash", "contains": "git status"}]}
    ),
    "allow is letter by letter": Case(
        "ask", "mode", "bash", command("GIT status"), rules={"allow": [{"contains": "git status"}]}
    ),
    "deny is not": Case("deny", "deny_rule", "bash", command("RM -RF x"), ALLOW, {"deny": [{"contains": "rm -rf"}]}),
    "deny sees through spaces": Case(
        "deny", "deny_rule", "bash", command("rm \t -rf x"), ALLOW, {"deny": [{"contains": "rm -rf"}]}
    ),
    "deny sees through wide letters": Case("deny", "deny_rule", "write", at("ｓecret/a"), ALLOW, {"deny": SECRET}),
    "deny sees through letters that are not seen": Case(
        "deny", "deny_rule", "write", at("sec\u200bret/a"), ALLOW, {"deny": SECRET}
    ),
    "deny sees composed and decomposed letters as one": Case(
        "deny", "deny_rule", "write", at("cafe\u0301/a"), ALLOW, {"deny": [{"path_contains": "caf\u00e9"}]}
    ),
    "deny of a path in another case": Case("deny", "deny_rule", "read", at("SECRET/a"), ALLOW, {"deny": SECRET}),
    "deny of a path by a link": Case("deny", "deny_rule", "read", at("alias/a"), ALLOW, {"deny": SECRET}),
    "deny of a path by a link's own name": Case(
        "deny", "deny_rule", "read", at("alias/a"), rules={"deny": [{"path_contains": "alias"}]}
    ),
    "deny of a path with needless steps": Case(
        "deny", "deny_rule", "read", at("./secret//a"), rules={"deny": [{"path_contains": "secret/a"}]}
    ),
    "deny of an absolute path": Case("deny", "deny_rule", "read", at("{root}/secret/a"), rules={"deny": SECRET}),
    "deny of a path in a command": Case("deny", "deny_rule", "bash", command("cat secret/a"), ALLOW, {"deny": SECRET}),
    "deny of a text in a content": Case(
        "deny", "deny_rule", "write", at("a", content="a Password b"), rules={"deny": [{"contains": "password"}]}
    ),
    "deny of a text further down": Case(
        "deny", "deny_rule", "launch", {"list": [{"x": "curl evil"}]}, ALLOW, {"deny": [{"contains": "curl"}]}
    ),
    "deny of a tool in another case": Case("deny", "deny_rule", "write", at("a"), rules={"deny": [{"tool": "Write"}]}),
    "allow of a tool in another case": Case("deny", "mode", "write", at("a"), READ, {"allow": [{"tool": "Write"}]}),
    "allow of a path": Case(
        "allow", "allow_rule", "write", at("docs/a"), READ, {"allow": [{"path_contains": "docs/"}]}
    ),
    "allow of a path that leads elsewhere": Case(
        "deny", "mode", "write", at("docs/elsewhere/a"), READ, {"allow": [{"path_contains": "docs/"}]}
    ),
    "allow of a path says nothing of a command": Case(
        "ask", "mode", "bash", command("cat docs/a"), rules={"allow": [{"path_contains": "docs/"}]}
    ),
    "all members must match: tool": Case(
        "allow", "mode", "write", at("a", content="x"), rules={"deny": [{"tool": "write", "contains": "y"}]}
    ),
    "all members must match: path": Case(
        "allow", "mode", "write", at("a", content="y"), rules={"deny": [{"path_contains": "b", "contains": "y"}]}
    ),
    "all members match": Case(
        *("deny", "deny_rule", "write", at("b", content="y"), ALLOW),
        {"deny": [{"tool": "write", "path_contains": "b", "contains": "y"}]},
    ),
    "any rule of a list": Case(
        "deny", "deny_rule", "write", at("a"), rules={"deny": [{"tool": "edit"}, {"tool": "write"}]}
    ),
    "ask of a read": Case("ask", "ask_rule", "read", at(".env"), ALLOW, {"ask": [{"path_contains": ".env"}]}),
    "empty lists": Case("allow", "mode", "write", at("a"), rules={"allow": [], "deny": [], "ask": []}),
    "an allowed unknown tool": Case("allow", "allow_rule", "launch", {}, READ, {"allow": [{"tool": "launch"}]}),
}

TABLE = BY_MODE | POWERFUL | PATHS | RULES

BROKEN = {
    "nothing": b"",
    "half": b'{"deny": [',
    "a list": b"[]",
    "null": b"null",
    "an unknown kind": b'{"denny": []}',
    "a kind in upper case": b'{"DENY": []}',
    "a kind twice": b'{"deny": [{"tool": "write"}], "deny": []}',
    "not a list": b'{"deny": {"tool": "write"}}',
    "a rule without a member": b'{"deny": [{}]}',
    "a rule that is a text": b'{"deny": ["write"]}',
    "an unknown member": b'{"deny": [{"tool": "write", "why": "x"}]}',
    "a member that is no text": b'{"deny": [{"tool": 1}]}',
    "a blank member": b'{"deny": [{"tool": " "}]}',
    "a null member": b'{"deny": [{"tool": null}]}',
    "not UTF-8": b'{"deny": [{"tool": "\xff"}]}',
    "a byte order mark": b'\xef\xbb\xbf{"deny": []}',
    "too much": b'{"deny": []' + b" " * 300_000 + b"}",
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project in it, and with what is not to be reached from there."""
    beside = tmp_path_factory.mktemp("beside")
    root = beside / "project"
    for folder in (root / "sub", root / "docs", root / "secret", root / ".holdfast", root / ".git", beside / "outside"):
        folder.mkdir(parents=True)
    (beside / "outside" / "a.txt").write_text("out")
    for link, target in {
        beside / "to-root": "project",
        root / "link-out.txt": "../outside/a.txt",
        root / "dir-out": "../outside",
        root / "chain": "dir-out",
        root / "dangling": "../outside/new.txt",
        root / "link-in": "sub",
        root / "round": "round",
        root / "to-own": ".holdfast",
        root / "to-git": ".git",
        root / "alias": "secret",
        root / "docs" / "elsewhere": "../sub",
    }.items():
        link.symlink_to(target)
    return beside


def decided(case: Case, beside: Path) -> tuple[str, str]:
    root = beside / "project"
    file = root / RULES_FILE
    file.unlink(missing_ok=True)
    if case.rules is not None:
        file.write_text(json.dumps(case.rules))
    arguments = {
        name: value.replace("{root}", str(root)).replace("{beside}", str(beside)) if isinstance(value, str) else value
        for name, value in case.arguments.items()
    }
    need = NEEDS.get(case.tool, DANGER)
    found = decide(case.tool, arguments, need=need, mode=case.mode, rules=load_rules(root), workspace=root)
    return found.outcome, found.code


@pytest.mark.parametrize("name", TABLE)
def test_a_call_is_decided(name: str, beside: Path) -> None:
    assert decided(TABLE[name], beside) == (TABLE[name].outcome, TABLE[name].code)


@pytest.mark.parametrize("name", BROKEN)
def test_rules_that_cannot_be_read_refuse_every_call_in_every_mode(name: str, tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / RULES_FILE).write_bytes(BROKEN[name])
    rules = load_rules(tmp_path)
    for tool, mode in (("read", READ), ("write", WRITE), ("bash", ALLOW)):
        found = decide(tool, at("a"), need=NEEDS[tool], mode=mode, rules=rules, workspace=tmp_path)
        assert (found.outcome, found.code) == ("deny", "rules_unreadable")
    assert rules.counts == {"allow": 0, "deny": 0, "ask": 0}
    assert rules.source == str(tmp_path / RULES_FILE)


def test_a_rule_file_that_is_a_folder_refuses_every_call(tmp_path: Path) -> None:
    (tmp_path / RULES_FILE).mkdir(parents=True)
    found = decide("read", at("a"), need=READ, mode=ALLOW, rules=load_rules(tmp_path), workspace=tmp_path)
    assert found.code == "rules_unreadable"


def test_a_project_without_rules_has_none(tmp_path: Path) -> None:
    rules = load_rules(tmp_path)
    assert (rules.counts, rules.source, rules.problem) == ({"allow": 0, "deny": 0, "ask": 0}, None, None)


def test_the_table_has_at_least_sixty_cases() -> None:
    assert len(TABLE) + len(BROKEN) >= 60

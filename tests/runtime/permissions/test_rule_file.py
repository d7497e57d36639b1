"""The rule file: what is in it, and how a rule is added."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.runtime.permissions import RULES_FILE, PermissionRule, add_rule, check_mode, load_rules


def test_rules_are_counted_by_kind(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    document = {"allow": [{"tool": "read"}, {"contains": "x"}], "ask": [{"path_contains": ".env"}]}
    (tmp_path / RULES_FILE).write_text(json.dumps(document))
    assert load_rules(tmp_path).counts == {"allow": 2, "deny": 0, "ask": 1}


def test_a_rule_is_added_to_a_new_file_and_to_one_that_is_there(tmp_path: Path) -> None:
    add_rule(tmp_path, "allow", PermissionRule(tool="bash", contains="git status"))
    add_rule(tmp_path, "deny", PermissionRule(path_contains=".env"))
    assert json.loads((tmp_path / RULES_FILE).read_text()) == {
        "allow": [{"tool": "bash", "contains": "git status"}],
        "deny": [{"path_contains": ".env"}],
    }
    assert load_rules(tmp_path).deny == (PermissionRule(path_contains=".env"),)
    assert [path.name for path in (tmp_path / ".holdfast").iterdir()] == ["permission-rules.json"]


@pytest.mark.parametrize(
    ("kind", "rule"), [("alow", PermissionRule(tool="x")), ("allow", PermissionRule()), ("deny", PermissionRule(" "))]
)
def test_a_rule_that_could_not_be_read_again_is_not_added(tmp_path: Path, kind: str, rule: PermissionRule) -> None:
    with pytest.raises(InvalidInput):
        add_rule(tmp_path, kind, rule)
    assert not (tmp_path / RULES_FILE).exists()


def test_rules_that_are_added_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    rules = [PermissionRule(tool=f"tool-{number}") for number in range(60)]
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(lambda rule: add_rule(tmp_path, "deny", rule), rules))
    assert sorted(load_rules(tmp_path).deny, key=rules.index) == rules


def test_nothing_is_added_to_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / RULES_FILE).write_text('{"denny": []}')
    with pytest.raises(InvalidInput):
        add_rule(tmp_path, "allow", PermissionRule(tool="bash"))
    assert (tmp_path / RULES_FILE).read_text() == '{"denny": []}'


def test_an_unknown_mode_is_refused_by_name() -> None:
    assert check_mode("prompt") == "prompt"
    with pytest.raises(InvalidInput, match="no permission mode 'root'"):
        check_mode("root")

"""Rules that come with a folder: what they allow counts once the user trusts them, until somebody changes them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.core.errors import Conflict
from holdfast.runtime.permissions import RULES_FILE, ModeTrust, PermissionRule, RuleTrust
from holdfast.runtime.permissions.mode_trust import MOST_KEPT

STRANGE = '{"allow":[{"tool":"bash"}],"deny":[{"path_contains":".env"}],"ask":[{"tool":"write"}]}'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.holdfast").mkdir(parents=True)
    return tmp_path / "project"


def trust_of(project: Path) -> RuleTrust:
    return RuleTrust(project.parent / "user/trusted-rules.json", project)


def write_rules(project: Path, text: str) -> None:
    (project / RULES_FILE).write_text(text)


def test_only_what_strange_rules_restrict_counts(project: Path) -> None:
    write_rules(project, STRANGE)
    trust = trust_of(project)
    assert trust.rules().counts == {"allow": 0, "deny": 1, "ask": 1}
    strange = trust.strange_rules()
    assert strange is not None
    assert strange.allow == (PermissionRule("bash"),)


def test_trust_is_kept_for_this_folder_and_these_bytes(project: Path) -> None:
    write_rules(project, STRANGE)
    strange = trust_of(project).strange_rules()
    assert strange is not None
    trust_of(project).trust(strange)
    assert trust_of(project).rules().counts == {"allow": 1, "deny": 1, "ask": 1}
    assert trust_of(project).strange_rules() is None
    assert not any("trusted" in path.name for path in project.rglob("*"))
    other = project.parent / "other"
    (other / ".holdfast").mkdir(parents=True)
    write_rules(other, STRANGE)
    assert trust_of(other).rules().allow == ()
    write_rules(project, STRANGE + " ")
    assert trust_of(project).rules().allow == ()
    write_rules(project, STRANGE)
    assert trust_of(project).rules().allow != ()


def test_rules_that_changed_after_they_were_shown_are_not_trusted(project: Path) -> None:
    write_rules(project, '{"allow":[{"tool":"write"}]}')
    shown = trust_of(project).strange_rules()
    assert shown is not None
    write_rules(project, STRANGE)
    trust_of(project).trust(shown)
    assert trust_of(project).rules().allow == ()


def test_rules_without_an_allow_need_no_trust(project: Path) -> None:
    assert trust_of(project).strange_rules() is None
    write_rules(project, '{"deny":[{"tool":"bash"}]}')
    assert trust_of(project).strange_rules() is None


def test_a_rule_of_the_users_own_is_trusted_and_makes_no_others_so(project: Path) -> None:
    trust_of(project).allow(PermissionRule("write"))
    trust_of(project).allow(PermissionRule("edit"))
    assert trust_of(project).rules().counts["allow"] == 2
    write_rules(project, STRANGE)
    with pytest.raises(Conflict):
        trust_of(project).allow(PermissionRule("write"))
    assert trust_of(project).rules().allow == ()
    assert (project / RULES_FILE).read_text() == STRANGE


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"x":'])
def test_a_broken_record_of_trust_trusts_nothing(project: Path, broken: str) -> None:
    write_rules(project, STRANGE)
    (project.parent / "user").mkdir()
    (project.parent / "user/trusted-rules.json").write_text(broken)
    strange = trust_of(project).strange_rules()
    assert strange is not None
    trust_of(project).trust(strange)
    assert trust_of(project).strange_rules() is None


def test_rules_that_cannot_be_read_still_refuse_everything(project: Path) -> None:
    write_rules(project, "{")
    assert trust_of(project).rules().problem is not None


def test_rules_that_two_chats_write_at_the_same_time_all_count(project: Path) -> None:
    rules = [PermissionRule(tool=f"tool-{number}") for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda rule: trust_of(project).allow(rule), rules))
    assert set(trust_of(project).rules().allow) == set(rules)


def test_what_is_said_of_two_folders_at_the_same_time_is_all_kept(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda folder: ModeTrust(tmp_path / "user/modes.json", folder).choose("s", "allow"), folders))
    assert all(ModeTrust(tmp_path / "user/modes.json", folder).counts("s", "allow") for folder in folders)


def test_a_wide_mode_counts_where_the_user_has_chosen_it(tmp_path: Path) -> None:
    trust = ModeTrust(tmp_path / "user/modes.json", tmp_path / "project")
    assert all(trust.counts("s", mode) for mode in ("read-only", "workspace-write", "prompt"))
    assert not any(trust.counts("s", mode) for mode in ("danger-full-access", "allow"))
    trust.choose("s", "prompt")
    assert not (tmp_path / "user").exists()
    trust.choose("s", "allow")
    assert trust.counts("s", "allow")
    assert not trust.counts("s", "danger-full-access")
    assert not trust.counts("other", "allow")
    assert not ModeTrust(tmp_path / "user/modes.json", tmp_path / "clone").counts("s", "allow")
    trust.choose("s", "read-only")
    assert not trust.counts("s", "allow")


def test_a_bounded_number_of_conversations_is_known(tmp_path: Path) -> None:
    trust = ModeTrust(tmp_path / "user/modes.json", tmp_path / "project")
    for number in range(MOST_KEPT + 1):
        trust.choose(str(number), "allow")
    assert not trust.counts("0", "allow")
    assert trust.counts("1", "allow")

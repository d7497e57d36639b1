"""Administration: tokens, audit log, retention, archives and backups, for whoever may."""

from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard import samples
from tests.dashboard.browsing import needs_chromium
from tests.dashboard.guarded import Guarded, bearer
from tests.dashboard.screen import Screen, new_screen
from tests.gateway.process import running
from tests.support.web import web_client

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True


def signed_in(screen: Screen, token: str, address: str) -> None:
    """The page after it has asked for a token."""
    screen.open(address)
    screen.page.get_by_label("Token", exact=True).fill(token)
    screen.button("Go on").click()


def test_the_first_token_is_shown_once(screen: Screen) -> None:
    screen.open("administration")
    screen.sees("There is no token")
    screen.button("New token").click()
    screen.sees("This is the first token")
    screen.page.get_by_label("Name", exact=True).fill("me <b>")
    screen.button("Make it").click()
    shown = screen.page.locator("[data-token]")
    expect(shown).to_contain_text("hf_")
    text = shown.inner_text()
    screen.button("Copy the token").click()
    assert screen.copied == text
    screen.page.keyboard.press("Escape")  # what is shown once is not closed by mistake
    screen.button("I have kept it").click()
    row = screen.page.get_by_role("row").filter(has_text="me <b>")
    expect(row).to_contain_text("operator")
    assert text not in screen.page.content()


def test_a_token_may_do_what_it_was_made_for_until_it_is_revoked(browser: Browser, guarded: Guarded) -> None:
    with new_screen(browser, guarded.url) as screen:
        signed_in(screen, guarded.operator_token, "administration")
        shown = screen.page.locator("[data-token]")
        screen.button("New token").click()
        screen.page.get_by_label("Name", exact=True).fill("ci")
        screen.page.get_by_label("read").first.uncheck()
        screen.page.get_by_label("proofs").first.check()
        screen.page.get_by_label("It is good").select_option("30 days")
        screen.button("Make it").click()
        expect(shown).to_contain_text("hf_")
        with web_client(base_url=guarded.url, headers=bearer(shown.inner_text())) as ci:
            assert ci.get("/api/sessions").status_code == 403
            screen.button("I have kept it").click()
            screen.button("Revoke ci").click()
            screen.button("Revoke", exact=True).last.click()
            screen.sees("Revoked “ci”.")
            assert ci.get("/api/sessions").status_code == 401
        expect(screen.button("Revoke ci")).to_have_count(0)
        screen.button("Show those that are over (1)").click()
        over = screen.page.locator(".tag", has_text="revoked")
        expect(screen.page.get_by_role("row").filter(has=over)).to_have_count(1)


@pytest.mark.parametrize(
    ("scope", "tabs"),
    [
        ("operator", ["Tokens", "Audit log", "Retention", "Archives", "Backup"]),
        ("admin", ["Audit log", "Retention", "Archives"]),
        ("read", []),
    ],
)
def test_scopes_decide_what_is_offered(browser: Browser, guarded: Guarded, scope: str, tabs: list[str]) -> None:
    token, _ = guarded.token("default", scope)
    with new_screen(browser, guarded.url) as screen:
        signed_in(screen, token, "administration")
        offered = screen.page.get_by_role("navigation", name="Parts of the administration").get_by_role("link")
        if tabs:
            expect(offered).to_have_text(tabs)
        else:
            screen.sees("This token may not see this page")
            assert screen.page.get_by_role("link", name="Administration").count() == 0


def test_whoever_may_only_read_answers_and_changes_nothing(browser: Browser, guarded: Guarded) -> None:
    task = samples.ask(guarded.operator, "reader")
    samples.remember(guarded.operator, "user:ada", "name", "Ada")
    token, _ = guarded.token("default")
    with new_screen(browser, guarded.url) as screen:
        signed_in(screen, token, "approvals")
        card = screen.page.get_by_role("article", name=task["question"])
        expect(card).to_be_visible()
        assert card.get_by_role("button").count() == 0
        screen.sees("To answer, use one with the scope")
        screen.open("memory")
        expect(screen.button("History of name")).to_be_visible()
        assert screen.button("Forget name").count() == screen.button("Remember").count() == 0


def test_the_audit_log_is_read_page_by_page(screen: Screen, client: httpx2.Client) -> None:
    for _ in range(60):
        samples.told(client.post("/api/retention", json={"maxSessions": 1_000_000, "dryRun": True}))
    screen.open("administration?tab=audit")
    rows = screen.page.get_by_role("table", name="Audit log").locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("/api/retention")
    screen.button("More entries").click()
    expect(rows).not_to_have_count(50)
    assert rows.count() >= 60


def test_retention_is_tried_first_and_then_agreed_to(screen: Screen, client: httpx2.Client) -> None:
    samples.sessions(client, ["old-1", "old-2", "old-3"])
    samples.told(client.post("/api/sessions/old-2/hold", json={"held": True, "reason": "law"}))
    screen.open("administration?tab=retention")
    expect(screen.button("Dry run")).to_be_disabled()
    screen.page.get_by_label("More sessions than").fill("0")
    screen.button("Dry run").click()
    table = screen.page.get_by_role("table", name="What would be deleted")
    expect(table).to_contain_text("old-1")
    screen.sees("1 session on hold would stay")
    assert client.get("/api/sessions/old-1").status_code == 200
    screen.page.get_by_role("button", name="Delete").click()
    screen.button("Cancel").click()
    assert client.get("/api/sessions/old-1").status_code == 200
    screen.page.get_by_role("button", name="Delete").click()
    screen.button("Delete them").click()
    screen.page.get_by_text("Deleted").first.wait_for()
    screen.button("See the archives").click()
    expect(screen.page.get_by_role("table", name="Deleted sessions")).to_contain_text("old-1")
    assert client.get("/api/sessions/old-1").status_code == 410
    assert client.get("/api/sessions/old-2").status_code == 200
    samples.told(client.post("/api/sessions/old-2/hold", json={"held": False}))


def test_a_deleted_session_comes_back_or_is_removed_for_good(screen: Screen, client: httpx2.Client) -> None:
    samples.sessions(client, ["back", "gone"])
    for name in ("back", "gone"):
        samples.told(client.delete(f"/api/sessions/{name}?reason=<i>moved</i>"))
    screen.open("administration?tab=archives")
    screen.button("Undelete back").click()
    screen.sees("“back” is back")
    assert client.get("/api/sessions/back").status_code == 200
    expect(screen.button("Undelete back")).to_have_count(0)

    screen.button("Remove gone for good").click()
    agree = screen.button("Remove for good", exact=True)
    expect(agree).to_be_disabled()
    screen.page.get_by_label("Type gone to agree").fill("gon")
    expect(agree).to_be_disabled()
    screen.page.get_by_label("Type gone to agree").fill("gone")
    agree.click()
    screen.sees("Removed “gone” for good.")
    row = screen.page.get_by_role("row").filter(has_text="gone")
    expect(row).to_contain_text("removed")
    expect(row).to_contain_text("<i>moved</i>")
    assert client.post("/api/archives/gone/restore").status_code == 409


def test_archives_are_read_page_by_page(browser: Browser, tmp_path: Path) -> None:
    names = [f"away-{number:02}" for number in range(53)]
    with (
        running(tmp_path) as gateway,
        web_client(base_url=gateway.url) as own,
        new_screen(browser, gateway.url) as screen,
    ):
        samples.sessions(own, names, events=1)
        for name in names:
            samples.told(own.delete(f"/api/sessions/{name}"))
        screen.open("administration?tab=archives")
        rows = screen.page.get_by_role("table", name="Deleted sessions").locator("tbody tr")
        expect(rows).to_have_count(50)
        screen.button("Undelete away-03").click()
        expect(rows).to_have_count(49)
        screen.button("More archives").click()
        expect(rows).to_have_count(52)
        shown = rows.get_by_role("rowheader").all_inner_texts()
        assert shown == [name for name in names if name != "away-03"]
        expect(screen.button("More archives")).to_have_count(0)


def test_a_backup_is_made_and_checked(screen: Screen, client: httpx2.Client, tmp_path: Path) -> None:
    samples.sessions(client, ["kept"])
    screen.open("administration?tab=backup")
    field = screen.page.get_by_label("File on the gateway's machine")
    expect(field).not_to_have_value("")
    field.fill(str(tmp_path / "now.backup"))
    screen.button("Back up now").click()
    made = screen.page.get_by_label("The backup", exact=True)
    expect(made).to_contain_text("checked")
    expect(made).to_contain_text("now.backup")
    assert (tmp_path / "now.backup").stat().st_size > 0
    field.fill(str(tmp_path / "now.backup"))
    screen.button("Back up now").click()
    expect(screen.page.get_by_role("alert")).to_be_visible()

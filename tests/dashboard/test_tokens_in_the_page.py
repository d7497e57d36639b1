"""Where a token is needed the page asks for it, keeps it for its tab, and offers what its scopes allow."""

import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.cli.command import argv
from tests.dashboard.browsing import needs_chromium, tab_of
from tests.dashboard.writing import describe
from tests.gateway.process import running
from tests.support.web import web_client

pytestmark = [pytest.mark.e2e, needs_chromium]


def new_token(data: Path, name: str, scope: str, tenant: str) -> str:
    """A token of a store that no gateway serves yet; Playwright's loop runs here, so a process makes it."""
    wanted = ("--scope", scope, "--tenant", tenant, "--data", str(data), "--json")
    made = subprocess.run(argv("token", "create", name, *wanted), capture_output=True, text=True, check=True)
    return str(json.loads(made.stdout)["token"])


def test_a_reader_sees_its_tenant_and_nothing_to_change(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    tokens = {
        name: new_token(data, name, scope, tenant)
        for name, scope, tenant in (("w", "write", "one"), ("r", "read", "one"), ("other", "write", "two"))
    }
    with running(data) as gateway:
        for name, session in (("w", "mine"), ("other", "theirs")):
            with web_client(base_url=gateway.url, headers={"Authorization": f"Bearer {tokens[name]}"}) as client:
                describe(client, session)
        with tab_of(browser, gateway.url) as tab:
            tab.go("sessions")
            dialog = tab.page.get_by_role("dialog")
            expect(dialog).to_contain_text("asks for a token")
            dialog.get_by_label("Token").fill("hf_wrong")
            tab.page.keyboard.press("Enter")
            expect(dialog.get_by_role("alert")).to_be_visible()
            dialog.get_by_label("Token").fill(tokens["r"])
            tab.page.keyboard.press("Enter")
            expect(tab.page.locator('[data-session="mine"]')).to_be_visible()
            expect(tab.page.locator('[data-session="theirs"]')).to_have_count(0)
            expect(tab.page.get_by_text("tenant one")).to_be_visible()
            expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
            expect(tab.page.get_by_role("link", name="Administration")).to_have_count(0)
            tab.page.keyboard.press("j")
            tab.page.keyboard.press("x")
            expect(tab.page.get_by_text("1 chosen")).to_be_visible()
            expect(tab.page.get_by_role("button", name="Delete")).to_have_count(0)
            tab.page.reload()
            expect(tab.page.locator('[data-session="mine"]')).to_be_visible()
            assert tab.ask("localStorage.getItem('holdfast.token')") is None
            assert not any(tokens["r"] in each for each in tab.requested)
            tab.check_calm()
        with tab_of(browser, gateway.url) as another:
            another.go("sessions")
            expect(another.page.get_by_role("dialog")).to_contain_text("asks for a token")

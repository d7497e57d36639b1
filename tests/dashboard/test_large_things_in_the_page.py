"""What is as large as it may be: the page shows it, or says why not, and goes on."""

import httpx2
import pytest
from playwright.sync_api import expect
from tests.dashboard.browsing import Tab, needs_chromium
from tests.dashboard.writing import append, describe, message, ok

pytestmark = [pytest.mark.e2e, needs_chromium]

LONGEST_ID = 200


def test_a_message_of_a_hundred_kilobytes(tab: Tab, client: httpx2.Client) -> None:
    words = "word " * 20_000
    append(client, "large", message("user", "before"), message("agent", f"{words} the-very-end"))
    tab.go("sessions/large")
    expect(tab.page.get_by_role("article").get_by_text("before")).to_be_attached()
    large = tab.page.locator('[data-seq="2"]')
    expect(large).to_be_visible()
    large.get_by_role("button", name="read when you open it").click()
    large.get_by_role("button", name="Show all of it").click()
    expect(large).to_contain_text("the-very-end")
    tab.go("sessions")
    expect(tab.page.locator('[data-session="large"]')).to_be_visible()


def test_ids_as_long_as_they_may_be(tab: Tab, client: httpx2.Client) -> None:
    plain, odd = "i" * LONGEST_ID, ("a:b_c.d-" * 25)[:LONGEST_ID]
    for session in (plain, odd):
        describe(client, session, tags=["longest"], userId="u" * 100)
        append(client, session, message("user", f"said in {session[:3]}"))
    ok(client.patch(f"/api/state/{odd}", json={"phase": "plan"}))
    tab.go("sessions?tag=longest")
    for session in (plain, odd):
        row = tab.page.locator(f'[data-session="{session}"]')
        expect(row).to_be_visible()
        row.get_by_role("link").click()
        expect(tab.page.get_by_role("article").get_by_text(f"said in {session[:3]}")).to_be_visible()
        tab.page.reload()
        expect(tab.page.get_by_role("article").get_by_text(f"said in {session[:3]}")).to_be_visible()
        assert tab.ask("document.documentElement.scrollWidth <= innerWidth")
        tab.page.keyboard.press("u")
    assert client.post("/api/sessions", json={"sessionId": "i" * (LONGEST_ID + 1)}).status_code == 400
    tab.go("sessions/" + "i" * (LONGEST_ID + 1))
    expect(tab.page.get_by_role("alert").or_(tab.page.get_by_text("no such session")).first).to_be_visible()


def test_ten_thousand_filters_in_an_address(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "filtered", tags=["t0"])
    tab.go("sessions?" + "&".join(f"tag=t{number}" for number in range(10_000)))
    expect(tab.page.locator('[data-session="filtered"]')).to_be_visible()
    tab.page.get_by_title("Remove this filter").click()
    expect(tab.page.locator('[data-session="filtered"]')).to_be_visible()
    tab.go("sessions?tag=" + "t" * 10_000)
    expect(tab.page.get_by_role("alert").or_(tab.page.get_by_text("No session fits")).first).to_be_visible()
    tab.page.get_by_title("Remove this filter").click()
    expect(tab.page.locator('[data-session="filtered"]')).to_be_visible()

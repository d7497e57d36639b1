"""Whose page it is: a token is asked for and kept for its tab, which shows its tenant's sessions and offers what the
token may do, also after that changes."""

import re

import httpx2
import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard.browsing import Tab, needs_chromium, tab_of
from tests.dashboard.guarded import Guarded
from tests.dashboard.writing import append, describe, message, ok

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True


def give(tab: Tab, token: str) -> None:
    """Give the token that is asked for."""
    dialog = tab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("asks for a token")
    dialog.get_by_label("Token").fill(token)
    dialog.get_by_role("button", name="Go on").click()


def talk(client: httpx2.Client, key: str, text: str) -> str:
    """One turn of the agent; the session that it is in."""
    ok(client.post(f"/api/chat/{key}", json={"text": text}))
    return str(ok(client.get(f"/api/keys/{key}"))["sessionId"])


def test_a_reader_sees_its_tenant_and_nothing_to_change(browser: Browser, guarded: Guarded) -> None:
    with guarded.client("readers") as mine, guarded.client("others") as other:
        describe(mine, "mine")
        describe(other, "theirs")
    token, _ = guarded.token("readers")
    with tab_of(browser, guarded.url) as tab:
        tab.go("sessions")
        dialog = tab.page.get_by_role("dialog")
        expect(dialog).to_contain_text("asks for a token")
        dialog.get_by_label("Token").fill("hf_wrong")
        tab.page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).to_be_visible()
        dialog.get_by_label("Token").fill(token)
        tab.page.keyboard.press("Enter")
        expect(tab.page.locator('[data-session="mine"]')).to_be_visible()
        expect(tab.page.locator('[data-session="theirs"]')).to_have_count(0)
        expect(tab.page.get_by_text("tenant readers")).to_be_visible()
        expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
        expect(tab.page.get_by_role("link", name="Administration")).to_have_count(0)
        tab.page.keyboard.press("j")
        tab.page.keyboard.press("x")
        expect(tab.page.get_by_text("1 chosen")).to_be_visible()
        expect(tab.page.get_by_role("button", name="Delete")).to_have_count(0)
        tab.page.reload()
        expect(tab.page.locator('[data-session="mine"]')).to_be_visible()
        assert tab.ask("localStorage.getItem('holdfast.token')") is None
        assert not any(token in each for each in tab.requested)
        tab.check_calm()
    with tab_of(browser, guarded.url) as another:
        another.go("sessions")
        expect(another.page.get_by_role("dialog")).to_contain_text("asks for a token")


def test_a_reader_and_a_writer_beside_each_other(browser: Browser, guarded: Guarded) -> None:
    key = "agent:main:beside"
    with guarded.client("one") as one, guarded.client("two") as two:
        session = talk(one, key, "Hi, my name is Ada.")
        assert talk(two, key, "Hi, my name is Eve.") == session
        describe(two, "theirs")
        ok(two.put("/api/memories", json={"namespace": "user:eve", "key": "pet", "value": "newt"}))
        ok(one.put("/api/memories", json={"namespace": "user:ada", "key": "pet", "value": "cat"}))
        with tab_of(browser, guarded.url) as reader, tab_of(browser, guarded.url) as writer:
            for tab, scopes in ((reader, ()), (writer, ("write",))):
                tab.go(f"sessions/{session}?panel=checkpoints")
                give(tab, guarded.token("one", *scopes)[0])
                expect(tab.page.get_by_text("Nice to meet you, Ada.").first).to_be_visible()
                expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
                count = len(scopes)
                for offered in ("Make a checkpoint", "Send"):
                    expect(tab.page.get_by_role("button", name=offered, exact=True)).to_have_count(count)
                expect(tab.page.get_by_role("link", name="Administration")).to_have_count(0)
            append(two, session, message("agent", "words of the other tenant"))
            writer.page.get_by_label("Reply to the agent").fill("What is my name?")
            writer.page.keyboard.press("Enter")
            for tab in (reader, writer):
                expect(tab.page.locator("article.message", has_text="Your name is Ada.")).to_have_count(1)
                expect(tab.page.get_by_text("words of the other tenant")).to_have_count(0)
                tab.go("sessions/theirs")
                expect(tab.page.get_by_text("There is no such session")).to_be_visible()
                tab.go("sessions?q=Eve")
                expect(tab.page.get_by_text("No session fits")).to_be_visible()
                tab.go("memory")
                expect(tab.page.get_by_text("user:ada").first).to_be_visible()
                expect(tab.page.get_by_text("user:eve")).to_have_count(0)
                tab.check_calm()


def test_a_revoked_token_loses_nothing_that_was_typed(browser: Browser, guarded: Guarded) -> None:
    token, revoke = guarded.token("one", "write", "admin")
    with guarded.client("one") as one, tab_of(browser, guarded.url) as tab:
        session = talk(one, "agent:main:revoked", "Hi, my name is Ada.")
        tab.go(f"sessions/{session}?panel=details")
        give(tab, token)
        reply = tab.page.get_by_label("Reply to the agent")
        reply.fill("What is my name?")
        archive = tab.page.get_by_role("button", name="Archive", exact=True)
        expect(archive).to_be_visible()
        revoke()
        expect(tab.page.get_by_role("dialog")).to_contain_text("asks for a token")
        give(tab, "hf_wrong")
        expect(tab.page.get_by_role("alert")).to_be_visible()
        give(tab, guarded.token("one", "write")[0])
        expect(tab.page.get_by_role("dialog")).to_have_count(0)
        expect(archive).to_have_count(0)  # the new token may do less, and less is offered
        expect(reply).to_have_value("What is my name?")
        reply.press("Enter")
        expect(tab.page.locator("article.message", has_text="Your name is Ada.")).to_have_count(1)
        said = ok(one.get("/api/chat/agent:main:revoked/history"))["messages"]
        assert [each["text"] for each in said].count("What is my name?") == 1
        tab.check_calm()


def test_a_token_of_another_tenant_takes_nothing_along(browser: Browser, guarded: Guarded) -> None:
    token, revoke = guarded.token("one", "write")
    key = "agent:main:along"
    with guarded.client("one") as one, guarded.client("two") as two, tab_of(browser, guarded.url) as tab:
        session = talk(one, key, "Hi, my name is Ada.")
        talk(two, key, "Hi, my name is Eve.")
        tab.go(f"sessions/{session}")
        give(tab, token)
        expect(tab.page.get_by_text("Nice to meet you, Ada.").first).to_be_visible()
        tab.page.get_by_label("Reply to the agent").fill("a secret of tenant one")
        revoke()
        expect(tab.page.get_by_role("dialog")).to_contain_text("asks for a token")
        give(tab, guarded.token("two", "write")[0])
        expect(tab.page.get_by_text("Nice to meet you, Eve.").first).to_be_visible()
        expect(tab.page.get_by_text("tenant two")).to_be_visible()
        expect(tab.page.get_by_text("Ada")).to_have_count(0)
        expect(tab.page.get_by_label("Reply to the agent")).to_have_value("")
        assert "secret" not in two.get(f"/api/sessions/{session}/log").text
        tab.check_calm()


def test_a_reply_under_way_is_not_said_to_another_tenants_agent(browser: Browser, guarded: Guarded) -> None:
    token, revoke = guarded.token("one", "write")
    key = "agent:main:way"
    with guarded.client("one") as one, guarded.client("two") as two, tab_of(browser, guarded.url) as tab:
        session = talk(one, key, "Hi, my name is Ada.")
        talk(two, key, "Hi, my name is Eve.")
        tab.page.route_web_socket(re.compile("/ws"), lambda _: None)  # so that the reply is the first to be refused
        tab.go(f"sessions/{session}")
        give(tab, token)
        reply = tab.page.get_by_label("Reply to the agent")
        reply.fill("a secret of tenant one")
        revoke()
        reply.press("Enter")
        expect(tab.page.get_by_role("dialog")).to_contain_text("asks for a token")
        give(tab, guarded.token("two", "write")[0])
        expect(tab.page.get_by_text("Nice to meet you, Eve.").first).to_be_visible()
        for client in (one, two):
            assert "secret" not in client.get(f"/api/sessions/{session}/log").text

"""Memory: found by namespace and words, changed, followed back, forgotten."""

from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard import samples
from tests.dashboard.browsing import needs_chromium
from tests.dashboard.screen import Screen, new_screen
from tests.gateway.process import running

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


def test_nothing_is_remembered_and_the_page_says_what_a_memory_is(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path) as gateway, new_screen(browser, gateway.url) as screen:
        screen.open("memory")
        screen.sees("Nothing is remembered yet")
        screen.button("Remember something").click()
        screen.page.get_by_label("Namespace", exact=True).fill("user:first")
        screen.page.get_by_label("Key", exact=True).fill("colour")
        screen.page.get_by_label("Value", exact=True).fill("blue")
        screen.button("Remember", exact=True).last.click()
        screen.sees("Remembered “colour”.")
        namespaces = screen.page.get_by_role("navigation", name="Namespaces")
        expect(namespaces.get_by_role("link")).to_contain_text("user:first")


def test_a_search_is_in_the_address_and_survives_a_reload(screen: Screen, client: httpx2.Client) -> None:
    for key in ("breakfast", "dinner"):
        samples.remember(client, "user:ada", key, f"eats {key} with honey")
    samples.remember(client, "user:ada", "zone", {"name": "Europe/London"})
    screen.open("memory?namespace=user:ada")
    listed = screen.page.get_by_role("list", name="Memories")
    expect(listed.get_by_role("article")).to_have_count(3)
    screen.page.keyboard.press("/")
    screen.page.keyboard.type("hone")
    expect(listed.get_by_role("article")).to_have_count(2)
    screen.page.get_by_label("Search in this namespace").fill("dinner")
    expect(listed.get_by_role("article")).to_have_count(1)
    assert "q=dinner" in screen.page.url
    screen.page.reload()
    expect(listed.get_by_role("article")).to_have_count(1)
    expect(screen.page.get_by_label("Search in this namespace")).to_have_value("dinner")
    screen.page.get_by_label("Search in this namespace").fill("nowhere to be found")
    screen.button("Show all of them").click()
    expect(listed.get_by_role("article")).to_have_count(3)


def test_a_memory_is_changed_and_its_history_shows_both(screen: Screen, client: httpx2.Client) -> None:
    samples.remember(client, "user:grace", "name", "Grace")
    screen.open("memory?namespace=user:grace")
    screen.button("Change name").click()
    screen.page.get_by_label("Value", exact=True).fill("Grace Hopper")
    screen.button("Change", exact=True).last.click()
    screen.sees("Changed “name”.")
    screen.button("History of name").press("Enter")
    versions = screen.page.get_by_role("list", name="Versions of name, newest first").get_by_role("listitem")
    expect(versions).to_have_count(2)
    expect(versions.first).to_contain_text("Grace Hopper")
    expect(versions.last).to_contain_text("by agent")
    assert samples.told(client.get("/api/memories?namespace=user:grace"))["memories"][0]["source"] == "dashboard"


def test_a_change_that_somebody_overtook_is_refused(screen: Screen, client: httpx2.Client) -> None:
    samples.remember(client, "user:race", "seat", "1A")
    screen.open("memory?namespace=user:race")
    screen.button("Change seat").click()
    screen.page.get_by_label("Value", exact=True).fill("1B")
    samples.remember(client, "user:race", "seat", "2C")
    screen.button("Change", exact=True).last.click()
    expect(screen.page.get_by_role("alert")).to_contain_text("Somebody changed it meanwhile")
    assert samples.told(client.get("/api/memories?namespace=user:race"))["memories"][0]["value"] == "2C"


def test_forgetting_asks_first(screen: Screen, client: httpx2.Client) -> None:
    samples.remember(client, "user:gone", "secret", "x")
    screen.open("memory?namespace=user:gone")
    screen.button("Forget secret").click()
    screen.button("Cancel").click()
    assert len(samples.told(client.get("/api/memories?namespace=user:gone"))["memories"]) == 1
    screen.button("Forget secret").click()
    screen.button("Forget", exact=True).click()
    screen.sees("Forgot “secret”.")
    assert samples.told(client.get("/api/memories?namespace=user:gone"))["memories"] == []


def test_what_was_remembered_is_text(screen: Screen, client: httpx2.Client) -> None:
    samples.remember(client, "user:<b>", HOSTILE, HOSTILE, HOSTILE)
    samples.remember(client, "user:<b>", "list", [HOSTILE, {"<i>": HOSTILE}])
    screen.open("memory?namespace=user:%3Cb%3E")
    expect(screen.page.get_by_role("article")).to_have_count(2)
    screen.button(f"History of {HOSTILE}").click()
    versions = screen.page.get_by_role("list", name="Versions of")
    expect(versions.get_by_role("listitem")).to_contain_text("version 1")
    assert screen.page.title() == "Memory · Holdfast"
    assert screen.page.locator("main img, main script, main b").count() == 0

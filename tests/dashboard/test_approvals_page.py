"""Approvals: what exactly is asked, the oldest first, and each question answered once."""

import json
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import Route, expect
from tests.dashboard import samples
from tests.dashboard.browsing import needs_chromium
from tests.dashboard.screen import Screen
from tests.support.eventually import wait_until

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True

YES = "“Yes, I approve.”"


def answers(client: httpx2.Client, task: dict[str, Any]) -> list[str]:
    """What was answered to the task, once it rests."""
    rests = {"completed", "failed", "canceled", "rejected"}
    wait_until(lambda: samples.told(client.get(f"/api/tasks/{task['taskId']}"))["state"] in rests, 0.05)
    events = samples.told(client.get(f"/api/sessions/{task['sessionId']}/events?type=message&limit=1000"))["events"]
    said = [each["details"] for each in events if each["details"]["role"] == "user"]
    return [each["parts"][0]["text"] for each in said if each["taskId"] == task["taskId"]][1:]


def keep_the_list(screen: Screen, client: httpx2.Client) -> None:
    """The page goes on to see the tasks that wait now."""
    body = client.get("/api/tasks?state=input-required&limit=100").text
    screen.page.route("**/api/tasks?*", lambda route: route.fulfill(body=body, content_type="application/json"))


def test_nobody_waits_and_the_page_says_so(screen: Screen, client: httpx2.Client) -> None:
    for task in samples.told(client.get("/api/tasks?state=input-required"))["tasks"]:
        samples.told(client.post(f"/api/tasks/{task['taskId']}/answer", json={"text": "No."}))
    screen.open("approvals")
    screen.sees("Nobody is waited for")


def test_a_question_comes_live_is_answered_and_the_count_follows(screen: Screen, client: httpx2.Client) -> None:
    screen.open("approvals")
    screen.heading("Approvals and open questions")
    task = samples.ask(client, "comes-live")
    card = screen.page.get_by_role("article", name=task["question"])
    expect(card).to_be_visible()
    expect(card.get_by_role("link")).to_have_attribute("href", f"#/sessions/{quote(task['sessionId'], safe='')}")
    entry = screen.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Approvals")
    expect(entry).to_contain_text("waiting")
    card.get_by_role("button", name=YES).click()
    expect(card).to_contain_text("You answered")
    assert answers(client, task) == ["Yes, I approve."]
    expect(entry).not_to_contain_text("waiting")


def test_whoever_has_waited_longest_comes_first(screen: Screen, client: httpx2.Client) -> None:
    asked = [samples.ask(client, name) for name in ("first", "second", "third")]
    screen.open("approvals")
    for task in asked:
        expect(screen.page.get_by_role("article", name=task["question"])).to_be_visible()
    shown = screen.page.locator("[data-task] .question").all_inner_texts()
    assert [each for each in shown if each in {task["question"] for task in asked}] == [
        each["question"] for each in asked
    ]
    screen.page.keyboard.press("j")
    expect(screen.page.locator("[data-task]:focus")).to_have_count(1)


def test_if_somebody_was_quicker_the_page_says_so(screen: Screen, client: httpx2.Client) -> None:
    task = samples.ask(client, "quicker")
    screen.open("approvals")
    card = screen.page.get_by_role("article", name=task["question"])
    expect(card).to_be_visible()
    keep_the_list(screen, client)
    samples.told(client.post(f"/api/tasks/{task['taskId']}/answer", json={"text": "I approve."}))
    card.get_by_label("Your answer").fill("Me too")
    card.get_by_role("button", name="Send").click()
    expect(card).to_contain_text("Already answered by somebody")
    assert answers(client, task) == ["I approve."]


def test_an_answer_whose_acknowledgement_was_lost_is_taken_once(screen: Screen, client: httpx2.Client) -> None:
    task = samples.ask(client, "lost")
    keys = []

    def lose_the_first(route: Route) -> None:
        keys.append(json.loads(route.request.post_data or "{}")["idempotencyKey"])
        answer = route.fetch()
        route.abort() if len(keys) == 1 else route.fulfill(response=answer)

    screen.page.route("**/answer", lose_the_first)
    screen.open("approvals")
    card = screen.page.get_by_role("article", name=task["question"])
    expect(card).to_be_visible()
    keep_the_list(screen, client)
    card.get_by_label("Your answer").fill("I approve.")
    card.get_by_label("Your answer").press("Control+Enter")
    expect(card.get_by_role("alert")).to_contain_text("cannot be reached")
    card.get_by_role("button", name="Send").click()
    expect(card).to_contain_text("You answered")
    assert (len(keys), len(set(keys))) == (2, 1)
    assert answers(client, task) == ["I approve."]

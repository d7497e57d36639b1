"""Overview: what is wrong comes first, and every chart is a table too."""

import re
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Route, expect
from tests.dashboard import samples
from tests.dashboard.browsing import needs_chromium
from tests.dashboard.screen import Screen, new_screen
from tests.gateway.process import running
from tests.support.eventually import wait_until
from tests.support.web import web_client

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True


@pytest.fixture(scope="module", autouse=True)
def work(client: httpx2.Client) -> None:
    """Something to show."""
    samples.sessions(client, ["one", "two"])
    samples.told(client.post("/api/chat/agent:main:me", json={"text": "Hi, my name is Ada."}))
    assert client.get("/api/sessions/nowhere").status_code == 404


def test_what_is_wrong_comes_first_with_the_command_that_helps(screen: Screen) -> None:
    screen.open("overview")
    wrong = screen.region("What is wrong")
    expect(wrong.get_by_text("No backup is known")).to_be_visible()
    wrong.get_by_role("button", name="Copy the command").click()
    assert screen.copied == "holdfast serve --backup-every 1d"


def test_figures_latency_failures_and_the_store_are_there(screen: Screen, client: httpx2.Client) -> None:
    engine = samples.told(client.get("/api/overview"))["store"]["engine"]
    screen.open("overview")
    screen.sees("Waiting for a person")
    latency = screen.page.get_by_role("table", name="Latency by route")
    expect(latency.get_by_text("Turns of the agent")).to_be_visible()
    expect(latency.get_by_text("/api/actions/{session_id}/batch")).to_be_visible()
    expect(screen.page.get_by_role("list", name="Failures by code").get_by_text("not_found")).to_be_visible()
    store = screen.region("Store")
    if engine == "sqlite":  # the files of the other are a database server's own
        expect(store).to_contain_text("Write-ahead log")
        expect(store).to_contain_text("Free on the disk")
    else:
        expect(store).to_contain_text("PostgreSQL")
    expect(screen.region("Backups")).to_contain_text("--backup-every")
    expect(screen.region("Gateways alive")).to_contain_text(screen.url)


def test_a_chart_is_drawn_and_is_a_table_behind_a_button(screen: Screen, client: httpx2.Client) -> None:
    screen.open("overview")
    chart = screen.region("Sessions begun")
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(r"Sessions begun, 30 days. Sessions: \d in all")
    )
    tall = "(each) => each.offsetHeight"
    height = chart.evaluate(tall)
    chart.get_by_role("button", name="Sessions begun as a table").press("Enter")
    rows = chart.get_by_role("row")
    expect(rows).to_have_count(31)
    today = samples.told(client.get("/api/overview?days=7"))["days"][-1]["sessions"]
    expect(rows.nth(1)).to_contain_text(str(today))
    assert chart.evaluate(tall) == height
    screen.button("7 days").click()
    expect(rows).to_have_count(8)
    screen.page.reload()
    expect(screen.button("7 days")).to_have_attribute("aria-pressed", "true")


def test_without_prices_it_says_how_to_set_them(screen: Screen) -> None:
    screen.open("overview")
    cost = screen.region("Cost")
    expect(cost).to_contain_text("holdfast serve --prices prices.toml")
    expect(cost).to_contain_text('[models."sim-1"]')
    expect(screen.page.get_by_role("table", name="Tokens and cost of each model")).to_contain_text("no price")


def test_with_prices_the_cost_is_drawn_and_they_may_change(browser: Browser, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "EUR"\n[models."sim-*"]\ninput = 1000\noutput = 2000\n')
    with (
        running(tmp_path / "data", "--prices", str(prices)) as gateway,
        web_client(base_url=gateway.url) as own,
        new_screen(browser, gateway.url) as screen,
    ):
        samples.told(own.post("/api/chat/agent:main:me", json={"text": "Hi, my name is Ada."}))
        screen.open("overview")
        cost = screen.region("Cost")
        expect(cost.locator("canvas")).to_be_visible()
        expect(cost.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"EUR: 0\.\d*[1-9]"))
        models = screen.page.get_by_role("table", name="Tokens and cost of each model")
        expect(models.get_by_role("columnheader", name="Cost, EUR")).to_be_visible()
        prices.write_text("input = oh no")
        screen.page.reload()
        expect(screen.region("What is wrong").get_by_text("The prices cannot be read")).to_be_visible()
        expect(cost.locator("canvas")).to_be_visible()


def test_the_charts_are_fetched_with_the_first_of_them_only(screen: Screen) -> None:
    screen.open("approvals")
    screen.heading("Approvals and open questions")
    assert not [each for each in screen.tab.requested if "uPlot" in each]
    screen.page.keyboard.press("g")
    screen.page.keyboard.press("o")
    expect(screen.page.locator("canvas").first).to_be_visible()
    assert len([each for each in screen.tab.requested if "uPlot" in each]) == 1


def test_charts_that_cannot_be_fetched_are_tables(screen: Screen) -> None:
    screen.page.route("**/uPlot*", lambda route: route.abort())
    screen.open("overview")
    chart = screen.region("Events")
    expect(chart.get_by_role("table")).to_be_visible()
    expect(chart).to_contain_text("Reload the page to see it")


def test_a_gateway_that_is_away_is_said_and_tried_again(screen: Screen) -> None:
    tried = 0

    def lose(route: Route) -> None:
        nonlocal tried
        tried += 1
        route.abort()

    screen.page.route("**/api/overview*", lose)
    screen.page.route("**/health", lambda route: route.abort())
    screen.open("overview")
    expect(screen.page.get_by_role("alert")).to_contain_text("cannot be reached")
    before = tried
    screen.button("Try again").click()
    screen.tab.wait_until(lambda: tried > before)
    screen.page.unroute("**/api/overview*")
    screen.button("Try again").click()
    expect(screen.region("What is wrong")).to_be_visible()


def test_a_refresh_moves_nothing(screen: Screen, client: httpx2.Client) -> None:
    screen.page.clock.install()
    screen.open("overview")
    chart = screen.region("Sessions begun")
    expect(chart.locator("canvas")).to_be_visible()
    screen.page.evaluate("document.querySelector('canvas').dataset.same = 'yes'")
    where = chart.bounding_box()
    before = chart.get_by_role("img").get_attribute("aria-label")
    samples.sessions(client, ["one-more"])

    def refreshed() -> bool:
        screen.page.clock.fast_forward(31_000)
        return chart.get_by_role("img").get_attribute("aria-label") != before

    wait_until(refreshed, 0.3)
    assert chart.bounding_box() == where
    assert chart.locator("canvas").get_attribute("data-same") == "yes"


ACCENT_IS_DRAWN = """() => {
  const canvas = document.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] === 255) found.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
  const probe = document.createElement('i');
  probe.style.color = 'var(--accent)';
  document.body.append(probe);
  const wanted = getComputedStyle(probe).color;
  probe.remove();
  return found.has(wanted);
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_the_drawing_has_the_colours_of_the_theme(browser: Browser, gateway_url: str, dark: bool) -> None:
    with new_screen(browser, gateway_url, dark=dark) as screen:
        screen.open("overview")
        expect(screen.region("Sessions begun").locator("canvas")).to_be_visible()
        wait_until(lambda: screen.tab.ask(ACCENT_IS_DRAWN), 0.1)

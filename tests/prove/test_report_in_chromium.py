"""report.html in a real browser: light, dark, on a phone, without scripts; nothing is requested and nothing runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.prove.folders import hostile
from tests.support import chromium
from tests.support.chromium import Chromium

from holdfast.prove import report

PROGRAM = chromium.find()
NO_CHROMIUM = "NOT RUN: no page was looked at, as there is no Chromium (scripts/chromium-here)"
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(PROGRAM is None, reason=NO_CHROMIUM)]

PHONE = 360
BRIGHTNESS = "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).reduce((sum, v) => sum + Number(v), 0)"
CONTRAST = """(() => {
  const light = (c) => c.match(/[0-9.]+/g).slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const own = (e) => getComputedStyle(e).backgroundColor;
  const ground = (e) => (own(e).endsWith(", 0)") ? ground(e.parentElement) : own(e));
  return Math.min(...[...document.querySelectorAll("h1, h2, p, dd, dt, a, summary, .chip, pre, time")].map((e) => {
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  }));
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    assert PROGRAM is not None
    with Chromium(PROGRAM) as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the most hostile run there is."""
    return report.write(hostile(tmp_path_factory.mktemp("hostile")))


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_light_or_dark_as_one_likes_and_readable_in_both(browser: Chromium, page: Path, dark: bool) -> None:
    browser.open(page, dark=dark)
    assert (browser.ask(BRIGHTNESS) < 150) is dark
    assert browser.ask(CONTRAST) >= 4.5


@pytest.mark.parametrize("scripts", [True, False])
def test_it_fits_a_phone_with_everything_open(browser: Chromium, page: Path, scripts: bool) -> None:
    browser.open(page, width=PHONE, scripts=scripts)
    browser.ask("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    assert browser.ask("innerWidth") == PHONE
    assert browser.ask("document.documentElement.scrollWidth") <= PHONE
    wide = "[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth).length"
    assert browser.ask(wide) == 0
    scrolled = "[...document.querySelectorAll('section, pre, dl')].filter((e) => e.scrollWidth > e.clientWidth).length"
    assert browser.ask(scrolled) == 0


def test_nothing_is_requested_and_nothing_that_a_target_said_runs(browser: Chromium, page: Path) -> None:
    browser.open(page)
    assert browser.requested == [page.as_uri()]
    assert browser.complaints == []
    assert "taken" not in browser.ask("document.title").split(":")
    assert browser.ask("document.querySelectorAll('script').length") == 1
    assert browser.ask("document.querySelectorAll('img').length") == 0


def test_a_script_that_got_in_all_the_same_would_not_run(browser: Chromium, page: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged.html"
    forged.write_text(page.read_text().replace("<footer>", "<script>document.title = 'taken'</script><footer>"))
    browser.open(forged)
    assert browser.ask("document.querySelectorAll('script').length") == 2
    assert browser.ask("document.title") != "taken"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


def test_what_is_wrong_is_open_and_one_click_opens_the_rest(browser: Chromium, page: Path) -> None:
    browser.open(page)
    assert browser.ask("document.querySelector('#crash details.steps').open") is True
    browser.ask("document.querySelectorAll('details.steps').forEach((d) => (d.open = false))")
    browser.ask("document.querySelector('.controls button').click()")
    assert browser.ask("[...document.querySelectorAll('details.steps')].every((d) => d.open)") is True


SHOWN = "[...document.querySelectorAll('section[data-name]')].filter((e) => !e.hidden).map((e) => e.dataset.name)"


def choose(browser: Chromium, control: str, value: str, event: str) -> None:
    """Put a value into a control, as a user does."""
    browser.ask(f"Object.assign(document.querySelector('{control}'), {{value: '{value}'}})")
    browser.ask(f"document.querySelector('{control}').dispatchEvent(new Event('{event}'))")


def test_a_reader_sees_what_was_filtered_for(browser: Chromium, page: Path) -> None:
    browser.open(page)
    assert browser.ask(SHOWN) == ["crash", "turn"]
    choose(browser, "#verdicts", "disproven", "change")
    assert browser.ask(SHOWN) == ["crash"]
    assert browser.ask("document.querySelector('.controls [role=status]').textContent") == "1 shown"
    choose(browser, "#verdicts", "", "change")
    choose(browser, "#words", "TUR", "input")
    assert browser.ask(SHOWN) == ["turn"]
    labels = "[...document.querySelectorAll('.controls input, .controls select')].every((e) => e.labels.length === 1)"
    assert browser.ask(labels) is True


def test_a_command_is_copied_by_a_button_that_says_so(browser: Chromium, page: Path) -> None:
    browser.open(page)
    browser.ask("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => (window.taken = t)}})")
    browser.ask("document.querySelector('#crash .copy').click()")
    assert browser.ask("window.taken") == browser.ask("document.querySelector('#crash dd pre').textContent")
    assert browser.ask("document.querySelector('#crash .copy').textContent") == "Copied"
    assert browser.complaints == []


def test_without_scripts_everything_is_there_and_opens(browser: Chromium, page: Path) -> None:
    browser.open(page, scripts=False)
    assert browser.ask("document.querySelector('button')") is None
    browser.ask("document.querySelector('#crash .timeline details summary').click()")
    assert browser.ask("document.querySelector('#crash .timeline details').open") is True
    assert browser.ask("document.querySelector('#crash .timeline details pre').getBoundingClientRect().height") > 0

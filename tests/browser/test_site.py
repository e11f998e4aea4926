"""The built site in a browser: no page fetches from another host or is wider than a phone, and the live page works."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """A touch screen of 390 pixels, which must have fetched nothing from another host when the test ends."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    requested: set[str] = set()
    page.on("request", lambda request: requested.add(request.url))
    yield page
    assert {url for url in requested if not url.startswith(("file:", "data:", "blob:"))} == set()
    context.close()


def test_no_page_is_wider_than_a_phone(phone: Page, site: Path) -> None:
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    assert len(pages) > 40
    for path in pages:
        phone.goto(path.as_uri())
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_the_menu_of_a_phone_leads_to_every_part(phone: Page, site: Path) -> None:
    phone.goto((site / "index.html").as_uri())
    phone.locator(".md-header label[for=__drawer]").tap()
    parts = phone.locator(".md-nav--primary > .md-nav__list > .md-nav__item--nested > label")
    names = [text.strip() for text in parts.all_inner_texts()]
    assert names == ["Begin", "Do", "Test an idea", "Look up", "Results", "Development"]


def test_the_live_page_of_table_3_draws_its_figures(phone: Page, site: Path) -> None:
    logged: list[str] = []
    phone.on("console", lambda message: logged.append(message.text))
    phone.on("pageerror", lambda error: logged.append(str(error)))
    phone.goto((site / "results" / "lab" / "capacity" / "table3.html").as_uri())
    for figure in phone.locator(".figure").all():
        figure.scroll_into_view_if_needed()
        expect(figure.locator(".main-svg").first).to_be_attached(timeout=60_000)
    expect(phone.locator(".results tbody tr")).to_have_count(20)
    assert logged == []

"""Pages in a browser: opened and closed with their errors and requests seen, and their figures drawn."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect


@contextmanager
def opened_page(browser: Browser, path: Path, *, width: int) -> Iterator[Page]:
    """A file in a window; it must have logged nothing and requested only itself when it is closed."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    logged: list[str] = []
    requested: set[str] = set()
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.on("request", lambda request: requested.add(request.url))
    page.goto(path.as_uri())
    yield page
    assert logged == []
    assert {url for url in requested if not url.startswith(("data:", "blob:"))} == {path.as_uri()}
    page.close()


def draw_all(page: Page) -> None:
    """Bring each figure into view, which draws it."""
    for figure in page.locator(".figure").all():
        figure.scroll_into_view_if_needed()
        expect(figure.locator(".main-svg").first).to_be_attached(timeout=60_000)

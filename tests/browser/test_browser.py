"""The browser that the tests of pages stand on."""

from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage

PAGE = """<!doctype html>
<title>unread</title>
<script>
  document.title = "read";
  console.error("heard");
</script>
"""


def test_pages_open_from_disk_run_their_scripts_and_are_heard(browser: Browser, tmp_path: Path) -> None:
    said: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        said.append(message.text)

    path = tmp_path / "page.html"
    path.write_text(PAGE, encoding="utf-8")
    page = browser.new_page()
    page.on("console", listen)
    page.goto(path.as_uri())

    assert page.title() == "read"
    assert said == ["heard"]

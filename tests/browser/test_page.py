"""The page of sixty runs in a browser: it is read, sorted, filtered, printed, and opened by keys and on a phone."""

import re
from pathlib import Path

import pytest
from browser_pages import draw_all
from playwright.sync_api import Browser, Page, expect

from aiayn.extensions.page.run_data import MOST_POINTS
from aiayn.paper.tables import load_table3

pytestmark = pytest.mark.long

ROWS = [row.id for row in load_table3().rows]

SHOWN = ".results tbody tr:not([hidden]) th"


def shown_rows(page: Page) -> list[str]:
    """The rows of Table 3 from above, those that the filter hides left out."""
    found: list[str] = page.locator(SHOWN).all_inner_texts()
    return [text.strip() for text in found]


def test_figures_are_drawn_when_they_come_into_view_and_hold_few_points(opened: Page, sweep: Path) -> None:
    assert opened.locator(".main-svg").count() == 0
    draw_all(opened)
    points = dict(
        opened.locator(".figure").evaluate_all("all => all.map((each) => [each.dataset.figure, +each.dataset.points])")
    )
    logged = len((sweep / "runs" / "mine" / "nano-seed1" / "metrics.jsonl").read_text().splitlines())
    assert set(points) == {"differences", "val/ppl", "val/bleu", "val/f1", "train/loss", "parameters"}
    axes = opened.locator("[data-pointing=curves]").evaluate_all(
        "all => all.map((each) => [each.dataset.figure, each._fullLayout.yaxis.type])"
    )
    assert dict(axes) == {"val/ppl": "log", "train/loss": "log", "val/bleu": "linear", "val/f1": "linear"}
    assert 61 * 2 < points["train/loss"] <= 61 * MOST_POINTS < 61 * logged
    assert points["val/ppl"] == 61 * 10
    # A curve is pressed, and its run opens.
    curve = opened.locator('[data-figure="val/ppl"]')
    curve.scroll_into_view_if_needed()
    place = curve.evaluate(
        "(figure) => { const box = figure.getBoundingClientRect(), {xaxis, yaxis} = figure._fullLayout;"
        " const at = figure.calcdata[0][9];"
        " return [box.x + xaxis._offset + xaxis.d2p(at.x) - 2, box.y + yaxis._offset + yaxis.d2p(at.y)]; }"
    )
    opened.mouse.move(*place)
    expect(curve.locator(".hoverlayer text").first).to_be_visible()
    opened.mouse.click(*place)
    expect(opened.locator("details.run[open]")).to_have_count(1)


def test_headings_sort_up_down_and_back(opened: Page) -> None:
    heading = opened.locator(".results thead th", has_text="paper").first
    values = [float(opened.locator(f".results tr:has(th[data-v={row}]) td.paper").first.inner_text()) for row in ROWS]
    by_value = [row for _, row in sorted(zip(values, ROWS, strict=True), key=lambda pair: pair[0])]
    assert shown_rows(opened) == ROWS
    for state, order in (("ascending", by_value), ("descending", None), ("none", ROWS)):
        heading.locator("button").click()
        expect(heading).to_have_attribute("aria-sort", state)
        if order:
            assert shown_rows(opened) == order
    heading = opened.locator(".results thead th", has_text="ours − base").first
    for _ in range(2):
        heading.locator("button").click()
        assert shown_rows(opened)[-1] == "base"  # without a difference, so last either way


def test_groups_and_words_filter_rows_figures_and_runs(opened: Page) -> None:
    draw_all(opened)
    opened.locator("[data-chip=B]").click()
    assert shown_rows(opened) == ["base", "b_dk16", "b_dk32"]
    expect(opened.locator("#matches")).to_have_text("3 of 20 rows")
    expect(opened.locator("details.run:not([hidden])")).to_have_count(9)
    expect(opened.locator('[data-figure="val/ppl"] .scatterlayer .trace')).to_have_count(9)
    opened.locator("#search").fill("dk16")
    assert shown_rows(opened) == ["b_dk16"]
    expect(opened.locator('[data-figure="val/ppl"] .scatterlayer .trace')).to_have_count(3)
    opened.reload()
    assert shown_rows(opened) == ["b_dk16"]
    opened.locator("#search").fill("")
    opened.locator("[data-all]").click()
    assert shown_rows(opened) == ROWS


def test_text_of_runs_is_not_executed(opened: Page) -> None:
    draw_all(opened)
    for run in ("base", "big"):
        for details in opened.locator(f"details.run[id^=run-table3-{run}-]").all():
            details.locator("summary").click()
    expect(opened.locator("dd", has_text="<script>document.title").first).to_be_visible()
    expect(opened.locator(".message.failed", has_text="onerror=")).to_be_visible()
    assert opened.title().startswith("Table 3")
    assert opened.locator("img, script[src]").count() == 0


def test_the_theme_is_the_systems_until_it_is_chosen(browser: Browser, opened: Page) -> None:
    def ground(page: Page) -> int:
        colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert ground(opened) > 600
    opened.locator("#theme").click()
    assert ground(opened) < 150
    expect(opened.locator("#theme")).to_have_text("Light")
    opened.reload()
    assert ground(opened) < 150
    dark = browser.new_page(color_scheme="dark")
    dark.goto(opened.url)
    assert ground(dark) < 150
    dark.locator("#theme").click()
    assert ground(dark) > 600
    dark.close()


def test_every_control_is_reached_by_keys(opened: Page) -> None:
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.className") == "skip"
    opened.keyboard.press("Enter")
    claim = opened.locator(".claim").first
    claim.locator("summary").focus()
    opened.keyboard.press("Enter")
    expect(claim).to_have_attribute("open", "")
    expect(claim.locator("svg.interval").first).to_be_visible()
    heading = opened.locator(".results thead button").nth(2)
    heading.focus()
    opened.keyboard.press("Space")
    expect(opened.locator(".results thead th[aria-sort=ascending]")).to_have_count(1)
    outline: str = opened.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    reachable = opened.locator("button, a[href], input, select, summary, .scroller")
    assert reachable.evaluate_all("all => all.every((each) => each.tabIndex >= 0)")


def test_a_link_opens_a_run_with_its_samples_and_maps(opened: Page) -> None:
    opened.locator(".results tr:has(th[data-v=base]) a.seed").first.click()
    run = opened.locator("#run-table3-base-nano-seed1")
    expect(run).to_have_attribute("open", "")
    expect(run.locator(".sample")).to_have_count(9)
    heads = run.locator(".attention .heads button")
    expect(heads).to_have_count(3)
    heads.nth(2).click()
    expect(heads.nth(2)).to_have_attribute("aria-pressed", "true")
    cells = run.locator(".attention .large svg rect[fill-opacity]")
    expect(cells).to_have_count(3)  # decoder to encoder: a diagonal
    run.locator(".attention select").first.select_option("0")
    expect(cells).to_have_count(4)  # encoder
    expect(cells.first.locator("title")).to_have_text("A → A: 1.00")
    failed = opened.locator("#run-table3-big-nano-seed3")
    opened.evaluate("location.hash = 'run-table3-big-nano-seed3'")
    expect(failed.locator(".message")).to_contain_text("the loss is not finite")


def test_only_tables_scroll_sideways_on_a_phone(browser: Browser, written: Path) -> None:
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = phone.new_page()
    page.goto(f"{written.as_uri()}#run-table3-base-nano-seed1")
    draw_all(page)
    for details in page.locator("details:not(.run)").all():
        details.evaluate("(each) => { each.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".results").evaluate("(each) => each.parentNode.scrollWidth > each.parentNode.clientWidth")
    phone.close()


def test_a_print_is_white_and_has_no_controls(opened: Page) -> None:
    opened.locator("#theme").click()
    draw_all(opened)
    opened.emulate_media(media="print")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    for hidden in (".bar", "#theme", "details.run:not([open])"):
        expect(opened.locator(hidden).first).to_be_hidden()
    expect(opened.locator(".results")).to_be_visible()
    assert opened.locator(".claim[open]").count() == opened.locator(".claim").count()
    assert opened.locator(".scroller").first.evaluate("(each) => getComputedStyle(each).overflowX") == "visible"
    text = opened.locator("h1").evaluate("(each) => getComputedStyle(each).color")
    assert sum(map(int, re.findall(r"\d+", text)[:3])) < 150
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.locator(".claim[open]").count() == 0
    assert opened.evaluate("document.documentElement.dataset.theme") == "dark"


def test_tables_need_no_script(browser: Browser, written: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(written.as_uri())
    assert shown_rows(page) == ROWS
    expect(page.locator(".claim")).to_have_count(10)
    expect(page.locator("noscript p")).to_be_visible()
    expect(page.locator("#filter")).to_be_hidden()
    context.close()


def test_a_page_that_is_rewritten_loads_itself_and_keeps_what_was_chosen(
    browser: Browser, written: Path, tmp_path: Path
) -> None:
    path = tmp_path / "live.html"
    text = written.read_text(encoding="utf-8").replace('data-refresh=""', 'data-refresh="15"', 1)
    path.write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.clock.install()
    page.goto(path.as_uri())
    expect(page.locator("#live")).to_have_text("Live: pause")
    page.locator("#search").fill("a_h")
    page.locator("#search").blur()
    page.locator(".results thead button").nth(2).click()
    page.locator(".claim summary").nth(1).click()
    order = shown_rows(page)
    path.write_text(text.replace("<title>Table 3", "<title>Again: Table 3", 1), encoding="utf-8")
    page.clock.run_for(31_000)
    expect(page).to_have_title(re.compile("Again"))
    # The title is there before the scripts have run, and the clock may load the page once more: the rows are awaited.
    expect(page.locator(SHOWN)).to_have_text(order)
    assert len(order) == 4
    expect(page.locator(".claim").nth(1)).to_have_attribute("open", "")
    page.locator("#live").click()
    path.write_text(text, encoding="utf-8")
    page.clock.run_for(60_000)
    expect(page).to_have_title(re.compile("Again"))
    page.close()

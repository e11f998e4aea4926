"""The page is legible: contrast in both colour schemes, lines that differ, axes with ticks, legends and row names."""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from browser_pages import draw_all, opened_page
from playwright.sync_api import Browser, Locator, Page, expect

from aiayn.paper.tables import load_table3

pytestmark = pytest.mark.long

ROWS = [row.id for row in load_table3().rows]

GRAPHICS, TEXT = 3.0, 4.5
"""The least contrast of WCAG 2.2, level AA, for graphics and for text."""

TEXTS = r"""() => [...document.querySelectorAll('body *')]
.filter((each) => each.checkVisibility() && !each.closest('svg, .skip, script, noscript'))
.filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
.map((each) => {
  const groundOf = (element) => getComputedStyle(element).backgroundColor;
  let ground = each;
  while (ground.parentElement && /^rgba.*, 0\)$/.test(groundOf(ground))) ground = ground.parentElement;
  return [each.textContent.trim().slice(0, 40), getComputedStyle(each).color, groundOf(ground)];
})"""
"""The start of each visible text, its colour and that of its ground."""

SHAPES = r"""() => {
  const styles = (selector, property) => [...document.querySelectorAll(selector)]
    .map((each) => [each.getAttribute('class'), getComputedStyle(each)[property]]);
  const traces = [...document.querySelectorAll('.figure')].flatMap((figure) => figure.data).flatMap(
    ({ name, line, marker }) => [
      [name, line?.color], ...[marker?.color, marker?.line?.color].flat().map((each) => ['marker', each]),
    ]);
  return [
    ...styles('.chip', 'backgroundColor'), ...styles('.dot', 'borderTopColor'),
    ...styles('.interval line, .interval rect', 'stroke'), ...traces,
  ].filter(([, colour]) => colour && !/^rgba.*, ?0\)$/.test(colour));
}"""
"""A name and the colour of each shape; those without colour are left out."""

AXES = r"""(figure) => Object.entries(figure.layout)
.filter(([name, axis]) => /^[xy]axis/.test(name) && axis.showticklabels !== false)
.map(([name]) => [name, figure.querySelectorAll(`.${name[0]}${name.slice(5)}tick text`).length])"""
"""The number of ticks with a label, by axis."""

LOOKS = """all => all.map((each) => {
  const { borderTopStyle, backgroundColor, backgroundImage, borderRadius } = getComputedStyle(each);
  return [borderTopStyle, backgroundColor, backgroundImage, borderRadius].join();
})"""


def luminance(colour: str) -> float:
    """Relative luminance of a colour as browsers state it, `rgb(...)` or `color(srgb ...)`."""
    bands = [float(number) for number in re.findall(r"[\d.]+", colour)[:3]]
    shares = bands if colour.startswith("color(") else [band / 255 for band in bands]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def box(element: Locator) -> tuple[float, float, float, float]:
    """Left, top, right and bottom in the window."""
    found = element.bounding_box()
    assert found is not None
    return found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"]


def overlap(first: tuple[float, float, float, float], second: tuple[float, float, float, float]) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


@pytest.fixture
def phone(browser: Browser, opened: Page) -> Iterator[Page]:
    """The page on a touch screen of 390 pixels."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(opened.url)
    yield page
    context.close()


@pytest.fixture(scope="module")
def still(browser: Browser, written: Path) -> Iterator[Page]:
    """The page in a window wider than its tables, which tests only look at."""
    with opened_page(browser, written, width=1600) as page:
        yield page


def test_contrast_is_computed() -> None:
    assert contrast("rgb(0, 0, 0)", "color(srgb 1 1 1)") == pytest.approx(21)
    assert contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_graphics_stand_out(opened: Page, scheme: Any) -> None:
    opened.emulate_media(color_scheme=scheme)
    draw_all(opened)
    for details in opened.locator("details.claim, details.conditions, #run-table3-base-nano-seed1").all():
        details.evaluate("(each) => { each.open = true; }")
    opened.locator("[data-chip=B]").click()
    opened.locator("[data-chip=D]").click()
    texts = opened.evaluate(TEXTS)
    assert len(texts) > 300
    assert [(text, own, ground) for text, own, ground in texts if contrast(own, ground) < TEXT] == []
    opened.locator("[data-all]").click()
    for figure in opened.locator("[data-pointing=curves]").all():
        expect(figure.locator(".scatterlayer .trace")).to_have_count(61)
    ground = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    shapes = opened.evaluate(SHAPES)
    assert {name for name, _ in shapes} >= {"dot reproduced", "claimed", "marker", *ROWS}
    assert [(name, own) for name, own in shapes if contrast(own, ground) < GRAPHICS] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_two_rows_of_a_plot_look_alike(opened: Page, scheme: Any) -> None:
    opened.emulate_media(color_scheme=scheme)
    draw_all(opened)
    for figure in opened.locator("[data-pointing=curves]").all():
        lines = figure.evaluate("(figure) => figure.data.map(({ name, line }) => [name, line.color, line.dash])")
        styles = {name: (colour, dash) for name, colour, dash in lines}
        assert set(styles) == {*ROWS, "mine"}
        assert len(set(styles.values())) == len(styles)
        assert {tuple(line) for line in lines} == {(name, *style) for name, style in styles.items()}, "of all seeds"


def test_a_filter_keeps_the_looks_of_a_row(opened: Page) -> None:
    draw_all(opened)
    curve = opened.locator('[data-figure="val/ppl"]')
    looks = "(figure) => figure.data.filter(({ name }) => name === 'c_d1024').map(({ line }) => line)"
    before = curve.evaluate(looks)
    opened.locator("#search").fill("c_d1024")
    expect(curve.locator(".scatterlayer .trace")).to_have_count(3)
    assert curve.evaluate(looks) == before


def test_every_axis_has_ticks(opened: Page, phone: Page) -> None:
    for page in (opened, phone):
        draw_all(page)
        for look in ("where they differ", "from the start"):
            page.get_by_role("button", name=look).click()
            for figure in page.locator(".figure").all():
                ticks = dict(figure.evaluate(AXES))
                assert len(ticks) >= 2
                assert min(ticks.values()) >= 3, (figure.get_attribute("data-figure"), look, ticks)


def test_the_tools_of_a_plot_cover_no_legend(opened: Page) -> None:
    draw_all(opened)
    for figure in opened.locator("[data-pointing=curves]").all():
        figure.hover()
        tools = figure.locator(".modebar-container .modebar")
        expect(tools).to_be_visible()
        entries = figure.locator(".legend .traces")
        expect(entries).to_have_count(len(ROWS) + 1)
        assert not any(overlap(box(tools), box(entry)) for entry in entries.all())


def test_a_phone_has_the_legend_below_the_plot(phone: Page) -> None:
    draw_all(phone)
    for figure in phone.locator("[data-pointing=curves]").all():
        entries = figure.locator(".legend .traces")
        boxes = [box(entry) for entry in entries.all()]
        assert len(boxes) == len(ROWS) + 1
        left, _, right, bottom = box(figure)
        assert all(left <= at[0] and at[2] <= right and at[3] <= bottom for at in boxes)
        assert not any(overlap(first, second) for first, second in combinations(boxes, 2))
        plot = box(figure.locator(".plotbg, .bglayer").first)
        assert not any(overlap(plot, at) for at in boxes)
    figure = phone.locator('[data-figure="val/ppl"]')
    curves = figure.locator(".scatterlayer .trace")
    count = curves.count()
    entry = figure.locator(".legend .traces", has_text="a_h4").locator("rect.legendtoggle")
    entry.scroll_into_view_if_needed()
    entry.tap()
    expect(curves).to_have_count(count - 3)


def test_names_of_rows_stay_while_a_table_scrolls(phone: Page) -> None:
    for table in phone.locator("table.sortable").all():
        name = table.locator("tbody th").first
        cell = table.locator("tbody td").first
        at, other = box(name), box(cell)
        frame = table.locator("..")
        cue = frame.evaluate("(each) => getComputedStyle(each, '::before').content")
        assert "scrolls sideways" in cue
        frame.evaluate("(each) => { each.scrollLeft = 150; }")
        assert box(name)[0] == pytest.approx(at[0], abs=1)
        assert box(cell)[0] == pytest.approx(other[0] - 150, abs=1)


def test_a_table_that_fits_has_no_cue(still: Page) -> None:
    frame = still.locator(".results").locator("..")
    expect(frame).not_to_have_class(re.compile("wide"))
    assert frame.evaluate("(each) => getComputedStyle(each, '::before').content") == "none"


def test_every_heading_has_words(still: Page) -> None:
    headings = still.locator("th").all_text_contents()
    assert len(headings) > 100
    assert all(text.strip() for text in headings)


def test_bars_of_the_cost_grow_rightwards(still: Page) -> None:
    bars = still.locator(".share[style]")
    assert bars.count() > 100
    images = set(bars.evaluate_all("all => all.map((each) => getComputedStyle(each).backgroundImage.slice(0, 25))"))
    assert images == {"linear-gradient(to right, "[:25]}


def test_dots_are_explained(still: Page) -> None:
    key = still.locator(".key")
    kinds = "all => [...new Set(all.map((each) => each.className))].sort()"
    assert key.locator(".dot").evaluate_all(kinds) == still.locator(".claim .dot").evaluate_all(kinds)
    shown = key.locator(".dot").evaluate_all(LOOKS)
    assert len(set(shown)) == len(shown) >= 2

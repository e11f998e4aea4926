"""Pictures of attention show the given weights and labels, and are deterministic."""

import re
from collections.abc import Callable
from functools import partial
from io import BytesIO
from itertools import combinations
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from aiayn.extensions.pictures.attention_figure import (
    DPI,
    FAINTEST,
    SHADES,
    fonts_for,
    heat_maps,
    lines,
    rendered,
    scripts_of,
)
from aiayn.runs.attention_maps import Map

SVG = "{http://www.w3.org/2000/svg}"


def drawn_map(queries: list[str], keys: list[str], *, layers: int = 2, heads: int = 3) -> Map:
    weights = np.random.default_rng(1).dirichlet(np.full(len(keys), 0.3), size=(layers, heads, len(queries)))
    return Map("cross", queries, keys, weights)


ODD = ["$x$", "a_b^{c}", "<&>", "水", "⟨E6⟩", "‿ing", r"\frac", "שלום", "was"]
SHOWN = drawn_map(ODD, ["the", "it", "was"])


def svg(figure: Figure) -> ET.Element:
    return ET.fromstring(rendered(figure, "svg"))


def texts(root: ET.Element) -> list[str]:
    return ["".join(each.itertext()).strip() for each in root.iter(f"{SVG}text")]


def opacities(root: ET.Element) -> list[float]:
    """Of the lines that are not opaque."""
    styles = (path.get("style") or "" for path in root.iter(f"{SVG}path"))
    return sorted(float(match[1]) for style in styles if (match := re.search(r"stroke-opacity: ([\d.]+)", style)))


FIGURES = [partial(heat_maps, SHOWN, layers=[0, 1], heads=[0, 2]), partial(lines, SHOWN, layer=1, heads=[0, 2])]


@pytest.mark.parametrize("draw", FIGURES, ids=["heat_maps", "lines"])
def test_the_same_weights_give_the_same_bytes_with_labels_as_they_are(draw: Callable[[], Figure]) -> None:
    for file_format in ("svg", "png"):
        assert rendered(draw(), file_format) == rendered(draw(), file_format)
    assert set(ODD) | {"the", "it"} <= set(texts(svg(draw())))


def test_there_is_a_heat_map_for_each_layer_and_head() -> None:
    root = svg(heat_maps(SHOWN, layers=[1, 0], heads=[2, 0]))
    assert len(list(root.iter(f"{SVG}image"))) == 2 * 2 + 1, "and the scale"
    names = [text for text in texts(root) if text.startswith(("layer", "head"))]
    assert sorted(names) == ["head 1", "head 3", "layer 1", "layer 2"]


@pytest.mark.long
def test_many_heads_have_several_rows() -> None:
    few, many = (
        heat_maps(drawn_map(["a"] * 5, ["b"] * 4, heads=count), layers=[0], heads=range(count)) for count in (8, 32)
    )
    assert few.get_figwidth() == many.get_figwidth()
    assert many.get_figheight() > 4 * few.get_figheight()
    assert sum(text.startswith("head") for text in texts(svg(many))) == 32


def test_names_of_heads_and_layers_stand_apart_in_a_very_short_sentence() -> None:
    figure = heat_maps(drawn_map(["Hallo", "."], ["Hello", "."], heads=8), layers=[0, 1], heads=range(8))
    names = [text for axes in figure.axes for text in (axes.title, *axes.texts) if text.get_text()]
    boxes = [text.get_window_extent() for text in names]
    assert len(boxes) == 8 + 2
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_the_shades_darken_throughout() -> None:
    red, green, blue = SHADES(np.linspace(0, 1, 256))[:, :3].T
    assert (np.diff(0.2126 * red + 0.7152 * green + 0.0722 * blue) < 0).all()


def test_lines_are_as_opaque_as_their_weights() -> None:
    weights = SHOWN.weights[1, [0, 2]]
    expected = sorted(weights[weights >= FAINTEST].tolist())
    assert len(expected) < weights.size, "some are too faint"
    assert opacities(svg(lines(SHOWN, layer=1, heads=[0, 2]))) == pytest.approx(expected, abs=1e-5)


def test_one_word_attends_alone_with_all_heads_in_one_panel() -> None:
    weights = SHOWN.weights[0, :, ODD.index("was")]
    root = svg(lines(SHOWN, layer=0, heads=range(3), word="was"))
    assert opacities(root) == pytest.approx(sorted(weights[weights >= FAINTEST].tolist()), abs=1e-5)
    assert texts(root).count("$x$") == 1
    assert texts(svg(lines(SHOWN, layer=0, heads=range(3)))).count("$x$") == 3


@pytest.mark.long
def test_characters_without_a_glyph_and_long_sentences_are_drawn() -> None:
    words = [f"w{number}水" for number in range(70)] + ["x" * 300]
    long = drawn_map(words, words, layers=1, heads=2)
    for figure in (heat_maps(long, layers=[0], heads=[0, 1]), lines(long, layer=0, heads=[0, 1])):
        picture = Image.open(BytesIO(rendered(figure, "png")))
        assert max(picture.size) < 26 * DPI


def test_characters_that_no_font_has_are_found_and_their_scripts_named() -> None:
    names, missing = fonts_for(["the", "Hund", "שלום", "⟨eos⟩", "‿ing", "…"])
    assert (names, missing) == (["DejaVu Sans"], "")
    names, missing = fonts_for(["the \U0010fffd", "\U0010fffc"])
    assert (names, missing) == (["DejaVu Sans"], "\U0010fffc\U0010fffd"), "no box of the last resort"
    assert scripts_of("हदप水\u3042\u1200") == ["Devanagari", "CJK", "Hiragana", "Ethiopic"]

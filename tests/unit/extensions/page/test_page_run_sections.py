"""Samples on the page show where a translation differs from its reference."""

import pytest

from aiayn.extensions.page.run_sections import marked


@pytest.mark.parametrize(
    ("hypothesis", "reference", "by_character", "expected"),
    [
        ("ein roter Hund", "ein alter Hund", False, "ein <mark>roter</mark> Hund"),
        ("红色的台灯。", "红色的桌灯。", True, "红色的<mark>台</mark>灯。"),
        ("红色的台灯。", "红色的桌灯。", False, "<mark>红色的台灯。</mark>"),
    ],
)
def test_words_that_differ_are_marked_or_characters(
    hypothesis: str, reference: str, by_character: bool, expected: str
) -> None:
    assert str(marked(hypothesis, reference, by_character=by_character)) == expected

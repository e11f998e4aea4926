"""Table 3 as data: complete, consistent with itself, and with what the paper prints."""

from collections import Counter
from dataclasses import FrozenInstanceError
from importlib import resources
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.paper.table3 import Row, Setting, load_table3, parse_table3

TABLE = load_table3()
IDS = [row.id for row in TABLE.rows]
PRINTED_COUNTS = [row for row in TABLE.rows if row.parameters.printed]
COLUMNS = ("ppl", "bleu", "parameters")


def raw() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(resources.files("aiayn.paper").joinpath("table3.yaml").read_text("utf-8"))
    return content


def millions(settings: dict[str, Setting], vocabulary_rows: int) -> int:
    """Parameters of a Transformer with tied embeddings and biased attention projections, counted by hand."""
    layers, d_model, d_ff, heads, d_k, d_v = (
        int(settings[f"model.{name}"]) for name in ("num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v")
    )
    attention = 2 * (d_model + 1) * heads * d_k + (d_model + 1) * heads * d_v + (heads * d_v + 1) * d_model
    feed_forward = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    layer_norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * layer_norm
    decoder_layer = 2 * attention + feed_forward + 3 * layer_norm
    return round((vocabulary_rows * d_model + layers * (encoder_layer + decoder_layer)) / 1e6)


def test_rows_are_the_papers_twenty_in_its_groups_and_order() -> None:
    assert len(set(IDS)) == len(IDS) == 20
    assert list(Counter(row.group for row in TABLE.rows).items()) == [
        ("base", 1),
        ("A", 4),
        ("B", 2),
        ("C", 7),
        ("D", 4),
        ("E", 1),
        ("big", 1),
    ]
    assert all(row.id == row.group or row.id.startswith(f"{row.group.lower()}_") for row in TABLE.rows)
    assert len({row.label for row in TABLE.rows}) == 20


@pytest.mark.parametrize("row", TABLE.rows, ids=IDS)
def test_changes_name_settings_of_base_and_differ_from_them(row: Row) -> None:
    assert row.changes.keys() <= TABLE.base.keys()
    assert all(TABLE.base[key] != value for key, value in row.changes.items())
    assert all(type(TABLE.base[key]) is type(value) for key, value in row.changes.items())
    settings = row.settings(TABLE)
    assert settings.keys() == TABLE.base.keys()
    assert {key: value for key, value in settings.items() if value != TABLE.base[key]} == dict(row.changes)


def test_every_row_but_base_is_another_model() -> None:
    assert not TABLE.row("base").changes
    assert len({tuple(row.settings(TABLE).values()) for row in TABLE.rows}) == len(TABLE.rows)


@pytest.mark.parametrize("row", [row for row in TABLE.rows if row.group != "B"], ids=lambda row: row.id)
def test_heads_divide_the_width_outside_group_b(row: Row) -> None:
    settings = row.settings(TABLE)
    for width in ("model.d_k", "model.d_v"):
        assert int(settings["model.num_heads"]) * int(settings[width]) == settings["model.d_model"]


@pytest.mark.parametrize("row", PRINTED_COUNTS, ids=lambda row: row.id)
def test_printed_parameters_follow_from_40960_biased_rows_except_big(row: Row) -> None:
    counted = millions(row.settings(TABLE), vocabulary_rows=40_960)
    if row.id == "big":
        assert counted != row.parameters.value
        assert row.note is not None
        assert {str(counted), str(row.parameters)} <= set(row.note.replace(",", "").replace(";", "").split())
    else:
        assert counted == row.parameters.value
    assert millions(row.settings(TABLE), vocabulary_rows=37_000) != row.parameters.value


def test_blank_parameter_cells_are_rows_of_the_size_of_base() -> None:
    blank = [row for row in TABLE.rows if not row.parameters.printed]
    assert len(PRINTED_COUNTS) == 11
    assert len(blank) == 9
    base = millions(dict(TABLE.base), vocabulary_rows=40_960)
    # A table of learned positions comes on top in group E; the paper does not say how long it is.
    assert {millions(row.settings(TABLE), vocabulary_rows=40_960) for row in blank if row.group != "E"} == {base}


def test_results_bear_out_what_section_6_2_says_of_them() -> None:
    def bleu(row_id: str) -> float:
        value = TABLE.row(row_id).bleu.value
        assert value is not None
        return value

    heads = [row.id for row in TABLE.rows if row.group == "A"]
    assert max(map(bleu, [*heads, "base"])) - bleu("a_h1") == pytest.approx(0.9)
    assert bleu("b_dk16") < bleu("b_dk32") < bleu("base")
    assert bleu("c_n2") < bleu("c_n4") < bleu("base")
    assert bleu("c_d256") < bleu("base") < bleu("c_d1024")
    assert bleu("c_ff1024") < bleu("base") < bleu("c_ff4096")
    assert bleu("d_drop0") < bleu("base")
    assert abs(bleu("e_learned") - bleu("base")) <= 0.1 + 1e-9
    assert max(IDS, key=bleu) == "big"


@pytest.mark.parametrize("row", TABLE.rows, ids=IDS)
@pytest.mark.parametrize("column", COLUMNS)
def test_cells_print_as_the_paper_prints_them(row: Row, column: str) -> None:
    text = next(entry for entry in raw()["rows"] if entry["id"] == row.id)[column]
    cell = getattr(row, column)
    assert str(cell) == (text or "")
    assert cell.printed is (text is not None)
    assert cell.unit == raw()["columns"][column]["unit"]
    if text is not None:
        assert len(text.partition(".")[2]) == cell.decimals


def test_only_parameter_cells_may_be_blank() -> None:
    assert all(row.ppl.printed and row.bleu.printed for row in TABLE.rows)


def test_yaml_survives_a_round_trip() -> None:
    again = yaml.safe_dump(raw(), sort_keys=False)
    assert parse_table3(again) == TABLE


def test_a_cell_of_another_precision_is_refused() -> None:
    content = raw()
    content["rows"][0]["bleu"] = "25.80"
    with pytest.raises(AssertionError, match=r"25\.80"):
        parse_table3(yaml.safe_dump(content))


def test_the_table_is_read_once_and_cannot_be_changed() -> None:
    assert load_table3() is TABLE
    with pytest.raises(FrozenInstanceError):
        TABLE.rows[0].label = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        TABLE.base["model.d_k"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        TABLE.row("big").changes["model.d_k"] = 1  # type: ignore[index]


@pytest.mark.parametrize("row_id", IDS)
def test_rows_are_found_by_id(row_id: str) -> None:
    assert TABLE.row(row_id).id == row_id


@given(row_id=st.text().filter(lambda text: text not in IDS))
def test_an_unknown_row_is_a_one_line_error_naming_the_known_ones(row_id: str) -> None:
    with pytest.raises(UserError) as caught:
        TABLE.row(row_id)
    message = str(caught.value)
    assert repr(row_id) in message
    assert all(known in message for known in IDS)
    assert len(message.splitlines()) == 1


def test_the_caption_states_the_conditions() -> None:
    assert TABLE.caption.source.startswith("arXiv:1706.03762v")
    assert TABLE.caption.dev_set == "newstest2013"
    assert TABLE.caption.language_pair == "en-de"
    assert not TABLE.caption.checkpoint_averaging
    assert TABLE.notes.keys() <= set(COLUMNS)

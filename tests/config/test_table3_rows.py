"""Table 3 as configuration: every row is the paper's printed difference, and nothing else."""

from enum import Enum
from typing import Any

import pytest
from composed_once import composed
from omegaconf import OmegaConf

from aiayn.config.freeze import plain
from aiayn.config.identity import flatten
from aiayn.config.schema import TrainConfig
from aiayn.config.store import conf_directory
from aiayn.config.validation import validate
from aiayn.paper.tables import load_table3

ROWS = [row.id for row in load_table3().rows]
SCALES = ("nano", "paper")
"""The smallest at which no two rows coincide, and the largest."""


def row_of(row: str, scale: str) -> TrainConfig:
    return composed(f"experiment=table3/{row}", f"scale={scale}")


def settings(row: str, scale: str = "paper") -> dict[str, Any]:
    """Everything that can change a result of the row, by dotted key."""
    content = plain(row_of(row, scale))
    leaves = flatten({key: value for key, value in content.items() if key not in ("identity", "callbacks")})
    return {key: value for key, value in leaves.items() if not key.endswith("_interval")}


def test_there_is_a_file_for_every_row_of_the_paper() -> None:
    files = {path.stem for path in (conf_directory() / "experiment" / "table3").glob("*.yaml")}
    assert files == set(ROWS)
    assert len(files) == 20


def test_the_base_row_has_the_papers_settings() -> None:
    base = settings("base")
    assert {key: base[key] for key in load_table3().base} == dict(load_table3().base)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_minus_base_is_what_the_paper_prints(row: str) -> None:
    base, own = settings("base"), settings(row)
    assert base.keys() == own.keys()
    changed = {key: value for key, value in own.items() if value != base[key]}
    assert changed == dict(load_table3().row(row).changes)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_valid_shapes_at_both_ends_of_the_scales(row: str, scale: str) -> None:
    config = row_of(row, scale)
    validate(config)
    assert config.identity.name.startswith(f"table3/{row}/{scale}-seed1-")


def test_no_two_rows_coincide_at_nano() -> None:
    rows = {row: tuple(sorted((key, str(value)) for key, value in settings(row, "nano").items())) for row in ROWS}
    assert len(set(rows.values())) == len(ROWS)


def test_rows_have_identities_of_their_own() -> None:
    hashes = {row_of(row, "nano").identity.hash for row in ROWS}
    assert len(hashes) == len(ROWS)


def test_enumerations_are_written_by_name() -> None:
    config = row_of("e_learned", "nano")
    assert not any(isinstance(value, Enum) for value in flatten(plain(config)).values())
    assert "positions: learned" in OmegaConf.to_yaml(OmegaConf.structured(config))

"""Trees on disk to sentences and linearised trees."""

import gzip
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aiayn.config.compose import compose_command
from aiayn.config.data_schema import TreesDataConfig
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.data.corpora.corpus import SPLITS, Corpus
from aiayn.data.preparation.prepared import PreparationSettings, prepare
from aiayn.errors import UserError
from aiayn.extensions.parsing.treebank import TreebankCorpus

BARKS = "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ barks) (NP (-NONE- *))) (. .)) )"
SLEEPS = "(TOP (S (NP (PRP it))\n  (VP (VBZ sleeps))))"
SINGS = "(S (NP (NNP Ann)) (VP (VBZ sings)))"


def corpus(files: Mapping[Any, object], **changes: Any) -> TreebankCorpus:
    settings: dict[str, Any] = {"folder": None, "tags": False, "gold_copies": 1, "language": "en"}
    return TreebankCorpus(files=files, **{**settings, **changes})


def pairs(corpus: TreebankCorpus, split: Any) -> list[tuple[str, str]]:
    return [(source, target) for source, target, _ in corpus.rows(split)]


@pytest.fixture
def files(tmp_path: Path) -> dict[Any, object]:
    """Trees as they come: a folder with folders, a gzip file and something else, and single files."""
    (tmp_path / "wsj" / "02").mkdir(parents=True)
    (tmp_path / "wsj" / "02" / "wsj_0201.mrg").write_text(f"{BARKS}\n\n{SLEEPS}\n")
    (tmp_path / "wsj" / "02" / "wsj_0202.mrg.gz").write_bytes(gzip.compress(f"{SINGS}\n".encode()))
    (tmp_path / "wsj" / "02" / "README").write_text("no trees\n")
    (tmp_path / "dev.txt").write_text(f"{SINGS}\n")
    return {"train": str(tmp_path / "wsj"), "dev": str(tmp_path / "dev.txt"), "test": [str(tmp_path / "dev.txt")]}


@pytest.fixture
def silver(tmp_path: Path) -> str:
    """Trees of a parser."""
    (tmp_path / "silver.trees").write_text(f"{SINGS}\n")
    return str(tmp_path / "silver.trees")


def test_sources_are_words_and_targets_brackets(files: dict[Any, object]) -> None:
    expected = [
        ("the dog barks .", "(S (NP XX XX )NP (VP XX )VP XX )S"),
        ("it sleeps", "(S (NP XX )NP (VP XX )VP )S"),
        ("Ann sings", "(S (NP XX )NP (VP XX )VP )S"),
    ]
    made: Corpus = corpus(files)
    assert made.task == "parsing"
    assert pairs(corpus(files), "train") == expected
    assert pairs(corpus(files, tags=True), "train")[1][1] == "(S (NP PRP )NP (VP VBZ )VP )S"
    assert [tree for *_, tree in made.rows("dev")] == [SINGS]


def test_names_are_relative_to_the_folder(files: dict[Any, object], tmp_path: Path) -> None:
    named = {"train": ["0[1-3]"], "dev": "02/wsj_0202.mrg.gz", "test": str(tmp_path / "dev.txt")}
    made = corpus(named, folder=str(tmp_path / "wsj"))
    assert pairs(made, "train") == pairs(corpus(files), "train")[:2], "less the file of dev"
    assert pairs(made, "dev") == pairs(made, "test") == pairs(corpus(files), "dev")
    with pytest.raises(UserError, match=r"^data\.path=/nowhere: no such folder"):
        pairs(corpus(named, folder="/nowhere"), "dev")


@pytest.mark.parametrize("held_out", ["dev", "test"])
def test_files_of_dev_and_test_are_excluded_from_training(
    held_out: str, files: dict[Any, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = {**files, held_out: "wsj/02/../02/wsj_0201.mrg"}
    assert [source for source, _ in pairs(corpus(named), "train")] == ["Ann sings"]
    assert corpus(named).origin["files"]["train"][0]["file"] == "wsj_0202.mrg.gz"
    with pytest.raises(UserError, match=r"^data\.train=wsj/02: all its files are in data\.dev or data\.test"):
        pairs(corpus({**named, "train": "wsj/02", held_out: ["wsj"]}), "train")
    mixed = corpus({**named, "silver": "wsj/0?"})
    assert [source for source, _ in pairs(mixed, "train")] == ["Ann sings"] * 2
    with pytest.raises(UserError, match=r"^data\.silver=wsj/02/wsj_0201\.mrg: all its files are in data\.dev or"):
        pairs(corpus({**named, "silver": "wsj/02/wsj_0201.mrg"}), "train")


def test_the_number_of_excluded_files_is_logged(files: dict[Any, object], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="aiayn")
    pairs(corpus(files), "train")
    assert not caplog.messages
    made = corpus({**files, "dev": f"{files['train']}/02/wsj_0201.mrg"})
    pairs(made, "dev")
    assert not caplog.messages
    assert pairs(made, "train") == pairs(made, "train")
    assert caplog.messages == ["data.train: excluded 1 files of data.dev or data.test"]


def test_trees_without_tags_teach_no_tags(files: dict[Any, object], silver: str) -> None:
    named = {**files, "silver": silver}
    Path(silver).write_text("(S (NP (XX Ann)) (VP (XX sings)))\n")
    assert len(pairs(corpus(named), "train")) == 4
    with pytest.raises(UserError, match=r"^data\.silver: \S+silver\.trees has no tag but XX, and data\.tags=true"):
        pairs(corpus(named, tags=True), "train")
    Path(silver).write_text("(S (NP (XX um)) (VP (VBZ sings)))\n")
    assert len(pairs(corpus(named, tags=True), "train")) == 4


def test_the_name_of_the_folder_is_no_glob(files: dict[Any, object], tmp_path: Path) -> None:
    folder = tmp_path / "wsj [1]"
    (tmp_path / "wsj").rename(folder)
    named = {"train": ["0[1-3]"], "dev": "02/wsj_0202.mrg.gz", "test": str(tmp_path / "dev.txt")}
    assert len(pairs(corpus(named, folder=str(folder)), "train")) == 2


def test_gum_is_split_by_its_documents(tmp_path: Path) -> None:
    config = to_dataclass(compose_command("train", ["data=gum", f"data.path={tmp_path}"]), TrainConfig).data
    assert isinstance(config, TreesDataConfig)
    assert len({*config.dev, *config.test}) == len(config.dev) + len(config.test) == 60
    for number, name in enumerate([*config.dev, *config.test, "GUM_news_new.ptb", "GUM_bio_new.ptb"]):
        (tmp_path / name).write_text(f"(ROOT (S (NN {number})))\n\n(ROOT\n  (S\n    (NN {number})))\n")
    for name in ("GUM_reddit_bobby.ptb", "GENTLE_poetry_road.ptb"):
        (tmp_path / name).write_text("(ROOT (S (NN _)))\n")
    made = corpus({split: getattr(config, split) for split in SPLITS}, folder=str(tmp_path))
    expected = {"train": ["61", "60"], "dev": map(str, range(30)), "test": map(str, range(30, 60))}
    for split, words in expected.items():
        assert [source for source, _ in pairs(made, split)] == [word for word in words for _ in range(2)]


def test_silver_trees_are_mixed_in_and_gold_ones_repeated(files: dict[Any, object], silver: str) -> None:
    gold = pairs(corpus(files), "train")
    mixed = corpus({**files, "silver": silver}, gold_copies=2)
    assert pairs(mixed, "train") == [*gold, *gold, ("Ann sings", "(S (NP XX )NP (VP XX )VP )S")]
    assert pairs(mixed, "dev") == pairs(corpus(files), "dev")


def test_the_identity_depends_on_the_content(files: dict[Any, object], silver: str, tmp_path: Path) -> None:
    first = corpus(files)
    assert corpus({**files, "silver": None}).identity == first.identity
    for other in (
        corpus(files, tags=True),
        corpus(files, gold_copies=2),
        corpus({**files, "silver": silver}),
        corpus({**files, "train": str(tmp_path / "wsj" / "02" / "wsj_0201.mrg")}),
    ):
        assert other.identity != first.identity
    before = first.identity
    (tmp_path / "dev.txt").rename(tmp_path / "moved.trees")
    moved = {**files, "dev": str(tmp_path / "moved.trees"), "test": str(tmp_path / "moved.trees")}
    assert corpus(moved).identity == before
    (tmp_path / "moved.trees").write_text(SLEEPS)
    assert corpus(moved).identity != before


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{SINGS}\n(S (NP (NN dog))\n", "line 2, column 1: "),
        ("dogs bark\n", "line 1, column 1: "),
    ],
)
def test_invalid_trees_are_reported_with_their_place(text: str, complaint: str, files: dict[Any, object]) -> None:
    path = Path(str(files["dev"]))
    path.write_text(text)
    with pytest.raises(UserError, match=r"^data\.dev: ") as refusal:
        pairs(corpus(files), "dev")
    assert complaint in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_invalid_utf8_is_reported_once(files: dict[Any, object], tmp_path: Path) -> None:
    (tmp_path / "dev.txt").write_bytes("(S (NN caf\xe9))\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"^data\.dev: \S+, line 1: not UTF-8 \([^)]*\); convert it$"):
        pairs(corpus(files), "dev")


def test_a_folder_without_trees_is_refused(files: dict[Any, object], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"^data\.train: no file below .*empty ends in \.mrg, "):
        _ = corpus({**files, "train": str(tmp_path / "empty")}).identity


def test_gold_trees_are_kept_beside_the_prepared_corpus(files: dict[Any, object], tmp_path: Path) -> None:
    settings = PreparationSettings(vocabulary_size=30, max_length=20, tokenizer="symbols", pretokenized=True)
    data = prepare(corpus(files), settings=settings, cache=tmp_path / "cache")
    assert data.task == "parsing"
    assert not data.tags
    assert "dev.trees" in data.manifest["files"]
    assert data.split("dev").gold_trees() == [SINGS]
    assert data.split("dev", limit=0).gold_trees() == []
    shared = data.manifest["contamination"]["sentences"]
    assert shared == {"dev.source": 1, "dev.target": 0, "test.source": 1, "test.target": 0}, "trees are no sentences"
    for split in SPLITS:
        prepared = data.split(split)
        assert [data.tokenizer.decode(ids) for ids in prepared.target] == [
            pair[1] for pair in pairs(corpus(files), split)
        ]

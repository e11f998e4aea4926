"""`aiayn import`: models of fairseq and Marian as run directories; their numbers are compared in tests/oracles/."""

import json
import os
import pickle
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import Say
from foreign_files import WORDS, write_fairseq, write_marian
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from aiayn.config.freeze import load_config
from aiayn.config.model_schema import TransformerConfig
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.data.vocabulary import GivenPieces, load_tokenizer, train_tokenizer
from aiayn.errors import UserError
from aiayn.extensions.foreign.fairseq import read_fairseq
from aiayn.extensions.foreign.marian import read_marian
from aiayn.extensions.foreign.model import TYPES
from aiayn.models.transformer import Transformer
from aiayn.runs.ledger import read_results
from aiayn.runs.record import Status, read_record

Write = Callable[..., Transformer]

LIBRARIES: dict[str, tuple[Write, str, str]] = {
    "fairseq": (write_fairseq, "model.pt", "w1 p2@@ w3 unheard"),
    "marian": (write_marian, "", "▁w1 p2 ▁w3 unheard"),
}
"""How its files are written, the checkpoint's name, and a line of pieces."""


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def checkpoint(library: str, folder: Path, **settings: Any) -> tuple[Path, Transformer]:
    """The files of a model, and the model."""
    write, name, _ = LIBRARIES[library]
    model = write(folder, **settings)
    return folder / name, model


def test_the_weights_and_the_vocabulary_are_the_librarys(library: str, say: Say, tmp_path: Path) -> None:
    path, model = checkpoint(library, tmp_path)
    assert say("import", f"checkpoint={path}", "output=run") == (0, "run\n", "")
    (saved,) = (tmp_path / "run/checkpoints").iterdir()
    state = torch.load(saved, weights_only=True)["state_dict"]
    expected = {f"model.{name}": value for name, value in model.state_dict().items()}
    torch.testing.assert_close(state, expected, rtol=0, atol=0)
    tokenizer = load_tokenizer(tmp_path / "run/tokenizer.json")
    assert tokenizer.pieces[tokenizer.eos_id] == "</s>"
    assert tokenizer.pieces[tokenizer.pad_id] == "<pad>"
    assert len(tokenizer.pieces) == model.vocabulary_size


@pytest.mark.parametrize("form", ["plain", "omegaconf", "no archive"])
def test_fairseqs_settings_are_read_from_every_form_of_its_files(form: str, say: Say, tmp_path: Path) -> None:
    path, model = checkpoint("fairseq", tmp_path)
    content = torch.load(path, weights_only=False)
    if form != "no archive":  # that is how arguments were stored until 2020
        settings = {"model": vars(content.pop("args")), "task": {"source_lang": "en", "target_lang": "de"}}
        content["cfg"] = OmegaConf.create(settings) if form == "omegaconf" else settings
    torch.save(content, path, _use_new_zipfile_serialization=form != "no archive")
    assert say("import", f"checkpoint={path}", "output=run").code == 0
    config = load_config(tmp_path / "run/config.yaml")
    assert isinstance(config.model, TransformerConfig)
    assert (config.model.d_ff, config.model.position_offset, config.model.decoder_start.value) == (24, 2, "eos")
    assert (config.decoding.beam_size, config.decoding.length_penalty.value) == (5, "power")
    assert read_record(tmp_path / "run/run.json").parameters == sum(each.numel() for each in model.parameters())


def test_the_record_names_the_origin_and_no_table_has_the_run(library: str, say: Say, tmp_path: Path) -> None:
    path, _ = checkpoint(library, tmp_path)
    assert say("import", f"checkpoint={path}", "output=run").code == 0
    record = read_record(tmp_path / "run/run.json")
    assert record.status is Status.imported
    assert record.imported is not None
    assert record.imported.library == library
    assert len(record.imported.sha256) == 64
    assert record.experiment == f"imported/{library}"
    assert read_results(tmp_path) == []
    assert "imported" in say("status", f"paths.runs={tmp_path}").out
    assert say("report", "comparison", f"paths.runs={tmp_path}").code == 2


@pytest.mark.long
@pytest.mark.slow
def test_every_command_on_a_run_takes_it(library: str, say: Say, tmp_path: Path) -> None:
    path, _ = checkpoint(library, tmp_path)
    line = LIBRARIES[library][2]
    known = line.removesuffix(" unheard")
    (tmp_path / "test.en").write_text(f"{known}\n{known} {known}\n")
    (tmp_path / "test.de").write_text(f"{known}\n{known}\n")
    files = ("test.source=test.en", "test.target=test.de", "source_language=en", "target_language=de")
    assert say("import", f"checkpoint={path}", "output=run", *files).code == 0
    translated = say("translate", "run=run", "decoding.beam_size=1", given=f"{line}\n")
    assert translated.code == 0
    assert len(translated.lines) == 1
    (scored,) = say("score", "run=run", given=f"{line}\t{line}\n").lines
    assert json.loads(scored)["tokens"] == 5
    assert say("evaluate", "run=run", "splits=[test]", "decoding.beam_size=2").code == 0
    (evaluation,) = (tmp_path / "run/evaluations").iterdir()
    assert say("report", "matrix", f"run={evaluation}").code == 0
    assert say("export", "run=run", "format=safetensors", "output=exported.safetensors").code == 0
    assert say("export", "run=run", "output=exported").code == 0
    assert say("attention", "run=run", "output=maps", "format=svg", given=f"{line}\n").code == 0


def test_a_test_set_in_other_pieces_is_refused(say: Say, tmp_path: Path) -> None:
    path, _ = checkpoint("fairseq", tmp_path)
    (tmp_path / "test.en").write_text("Plain text , not split by the merges of this model .\n")
    files = ("test.source=test.en", "test.target=test.en")
    said = say("import", f"checkpoint={path}", "output=run", *files)
    assert said.refuses_by("test.source=test.en: tokenizer.vocabulary=run/tokenizer.json: lacks ")
    assert not (tmp_path / "run").exists()


def test_without_a_test_set_nothing_is_evaluated(say: Say, tmp_path: Path) -> None:
    path, _ = checkpoint("fairseq", tmp_path)
    assert say("import", f"checkpoint={path}", "output=run").code == 0
    assert say("evaluate", "run=run").refuses_by("run=run: was imported without a test set; ")


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("fairseq", {"decoder_layers": 3}, "layers is 2 in the encoder and 3 in the decoder; "),
    ("fairseq", {"activation_fn": "gelu"}, "its activation is gelu; "),
    ("fairseq", {"no_scale_embedding": True}, "was trained with no_scale_embedding=True, "),
    (
        "fairseq",
        {"encoder_normalize_before": True, "decoder_normalize_before": True},
        "has no weights encoder.layer_norm",
    ),
    ("fairseq", {"encoder_embed_dim": 32, "decoder_embed_dim": 32}, "its weights do not fit this model "),
    ("marian", {"decoder_layers": 3}, "layers is 2 in the encoder and 3 in the decoder; "),
    ("marian", {"activation_function": "gelu"}, "activation_function=gelu; "),
    ("marian", {"scale_embedding": False}, "scale_embedding=false in config.json "),
    ("marian", {"model_type": "bart"}, "model_type=bart in config.json; "),
]


@pytest.mark.parametrize(("library_", "settings", "complaint"), REFUSED)
def test_another_structure_is_refused(
    library_: str, settings: dict[str, Any], complaint: str, say: Say, tmp_path: Path
) -> None:
    path, _ = checkpoint(library_, tmp_path, **settings)
    assert say("import", f"checkpoint={path}", "output=run").refuses_by(f"checkpoint={path}: {complaint}")
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_without_languages_takes_the_stated_ones(say: Say, tmp_path: Path) -> None:
    path, _ = checkpoint("fairseq", tmp_path, source_lang=None, target_lang=None)
    said = say("import", f"checkpoint={path}", "output=run", "source_language=en")
    assert said.refuses_by(f"checkpoint={path}: states no languages; state source_language= and target_language= ")
    assert say("import", f"checkpoint={path}", "output=run", "source_language=en", "target_language=de").code == 0
    data = load_config(tmp_path / "run/config.yaml").data
    assert (data.source_language, data.target_language) == ("en", "de")


def test_the_recorded_command_imports_the_same_model(library: str, say: Say, tmp_path: Path) -> None:
    path, _ = checkpoint(library, tmp_path)
    (tmp_path / "test.txt").write_text(f"{LIBRARIES[library][2].removesuffix(' unheard')}\n")
    words = ("source_language=ro", "target_language=de", "test.source=test.txt", "test.target=test.txt")
    assert say("import", f"checkpoint={path}", "output=run", *words).code == 0
    first = read_record(tmp_path / "run/run.json")
    (tmp_path / "run").rename(tmp_path / "first")
    program, *again = shlex.split(first.command)
    assert program == "aiayn"
    assert say(*again).code == 0
    second = read_record(tmp_path / "run/run.json")
    assert (second.config_hash, second.data_fingerprint) == (first.config_hash, first.data_fingerprint)
    assert second.command == first.command


def test_two_vocabularies_are_refused(say: Say, tmp_path: Path) -> None:
    path, _ = checkpoint("fairseq", tmp_path)
    (tmp_path / "dict.de.txt").write_text("".join(f"{word} 1\n" for word in reversed(WORDS)))
    said = say("import", f"checkpoint={path}", "output=run")
    assert said.refuses_by(f"checkpoint={path}: dict.en.txt and dict.de.txt differ; ")


def test_further_weights_are_refused(say: Say, tmp_path: Path) -> None:
    path, _ = checkpoint("fairseq", tmp_path)
    content = torch.load(path, weights_only=False)
    content["model"]["encoder.layernorm_embedding.weight"] = torch.ones(16)
    torch.save(content, path)
    said = say("import", f"checkpoint={path}", "output=run")
    assert said.refuses_by(f"checkpoint={path}: has weights that model=transformer lacks, such as encoder.layernorm_")


def test_a_vocabulary_of_sub_words_is_none_of_given_pieces(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    SubwordTokenizer.train(["the dog"], vocabulary_size=300).save(path)
    with pytest.raises(UserError, match=r"tokenizer.vocabulary=.*: not a vocabulary of given pieces; "):
        train_tokenizer(
            iter(()), vocabulary_size=300, kind="given", pretokenized=False, given=GivenPieces("subword_nmt", path)
        )


class Executed:
    """An object that runs a function when it is unpickled."""

    def __init__(self, function: Callable[..., Any], argument: str) -> None:
        self.call = function, (argument,)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return self.call


@pytest.mark.parametrize("is_archive", [True, False])
@pytest.mark.parametrize("function", [os.system, eval])
def test_no_code_of_a_file_runs(function: Callable[..., Any], is_archive: bool, say: Say, tmp_path: Path) -> None:
    """Neither a function whose name is not allowed, nor one whose name is: in its place stands a mere object."""
    path, _ = checkpoint("fairseq", tmp_path)
    witness = tmp_path / "executed"
    code = f"touch {witness}" if function is os.system else f"__import__('pathlib').Path({str(witness)!r}).touch()"
    content = torch.load(path, weights_only=False)
    content["extra_state"] = Executed(function, code)
    torch.save(content, path, _use_new_zipfile_serialization=is_archive)
    pickle.loads(pickle.dumps(Executed(function, code)))
    assert witness.exists(), "otherwise the test would show nothing"
    witness.unlink()
    say("import", f"checkpoint={path}", "output=run")
    assert not witness.exists()


@pytest.mark.parametrize("name", ["missing.pt", "text.pt", "list.pt", "empty.pt", "vocab.yml", "source.spm", "folder"])
def test_other_files_are_refused_in_one_line(name: str, say: Say, tmp_path: Path) -> None:
    for each in ("empty.pt", "text.pt", "vocab.yml"):
        (tmp_path / each).write_text("" if each == "empty.pt" else "a: 1")
    (tmp_path / "source.spm").write_bytes(bytes(range(256)))
    torch.save([1, 2], tmp_path / "list.pt")
    (tmp_path / "folder").mkdir()
    said = say("import", f"checkpoint={name}", "output=run")
    assert said.refuses_by(f"checkpoint={name}: ")
    assert "name a .pt of fairseq's trainer, or the folder of a Marian model" in said.err


VOCABULARIES = [
    ("fairseq", "dict.de.txt", None, "has no dict.de.txt beside it; copy the dictionary"),
    ("fairseq", "dict.de.txt", "", "{folder}/dict.de.txt is empty; fetch it again"),
    ("fairseq", "dict.de.txt", "a 1\na 2\n", "{folder}/dict.de.txt, line 2: line 1 has the piece a too; "),
    (
        "fairseq",
        "dict.*.txt",
        "a 1\n",
        "dict.en.txt makes a vocabulary of 5 entries, but the embeddings have 16 ",
    ),
    ("marian", "vocab.json", None, "has no vocab.json"),
    ("marian", "vocab.json", "", "vocab.json: not JSON (nothing is in it); download it"),
    ("marian", "vocab.json", "[]", "vocab.json is not a JSON object; download it again"),
    ("marian", "vocab.json", '{"<unk>": null}', "the ids in vocab.json are not 0 to 0; download it again"),
    ("marian", "vocab.json", '{"a": 0}', "vocab.json has no <unk>; download it again"),
    ("marian", "vocab.json", '{"</s>": 0, "<unk>": 1}', "pad_token_id=14 in config.json is no id of vocab.json; "),
]


@pytest.mark.parametrize(("library_", "pattern", "content", "complaint"), VOCABULARIES)
def test_a_vocabulary_that_cannot_be_used_is_named_with_the_remedy(
    library_: str, pattern: str, content: str | None, complaint: str, say: Say, tmp_path: Path
) -> None:
    path, _ = checkpoint(library_, tmp_path)
    for file in list(tmp_path.glob(pattern)):
        file.unlink()
        if content is not None:
            file.write_text(content)
    before = {*tmp_path.iterdir()}
    said = say("import", f"checkpoint={path}", "output=run")
    assert said.refuses_by(f"checkpoint={path}: {complaint.format(folder=tmp_path)}"), said.err
    assert {*tmp_path.iterdir()} == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(TYPES)), value=JSON)
@pytest.mark.parametrize("library_", LIBRARIES)
def test_a_setting_of_any_value_is_imported_or_refused_in_one_line(
    library_: str, name: str, value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, refusal = tmp_path_factory.mktemp("settings"), None
    path, _ = checkpoint(library_, folder, **{name: value})
    try:
        (read_marian if library_ == "marian" else read_fairseq)(path)
    except UserError as error:
        refusal = str(error)
    assert refusal is None or (refusal.startswith(f"checkpoint={path}: ") and "\n" not in refusal), refusal

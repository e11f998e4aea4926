"""Translate newstest2014 with a published English-German model, and print BLEU by every definition; needs a network.

`make published MODEL=fairseq` takes transformer.wmt16.en-de (Ott et al. 2018), with a published BLEU of 29.3 on Moses'
tokens with compounds split; MODEL=opus takes Helsinki-NLP/opus-mt-en-de. Downloads are kept below cache/published/.
"""

import argparse
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import libraries

from aiayn.evaluation import moses
from aiayn.evaluation.bleu import corpus_bleu, sentence_statistics
from aiayn.evaluation.matrix import Translations, quick_matrix
from aiayn.evaluation.score import Score
from aiayn.evaluation.test_sets import on_test_sets
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.matrix import definitions

ROOT = Path(__file__).parents[2]
LANGUAGES = ("en", "de")


@dataclass(frozen=True)
class Published:
    """A published model."""

    address: str
    """Address of an archive, or the name of a repository on the Hugging Face hub."""
    checkpoint: str
    """Name of the checkpoint's file in the model's folder; empty: the folder."""
    kind: str
    """Kind of its pieces: subword_nmt or sentencepiece."""
    splitter: str
    """The file of merges, or of SentencePiece's model."""
    search: tuple[str, ...] = ()
    """Settings of its published scores that differ from the model's own."""


MODELS = {
    "fairseq": Published(
        address="https://dl.fbaipublicfiles.com/fairseq/models/wmt16.en-de.joined-dict.transformer.tar.bz2",
        checkpoint="model.pt",
        kind="subword_nmt",
        splitter="bpecodes",
        search=("decoding.beam_size=4", "decoding.length_penalty_alpha=0.6"),
    ),
    "opus": Published(address="Helsinki-NLP/opus-mt-en-de", checkpoint="", kind="sentencepiece", splitter="source.spm"),
}


def main(words: Sequence[str] | None = None) -> None:
    """Translate and score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--folder", type=Path, help="the model's files, instead of downloading them")
    parser.add_argument("--test", nargs=2, metavar=("SOURCE", "REFERENCE"), help="other text than newstest2014")
    stated = parser.parse_args(words)
    model = MODELS[stated.model]
    folder = stated.folder or downloaded(model, ROOT / "cache" / "published" / stated.model)
    sources, references = (lines(Path(name)) for name in stated.test or newstest2014())
    outputs = translated(model, folder, sources)
    show(report(stated.model, sources, references, outputs), None)


def downloaded(model: Published, folder: Path) -> Path:
    """The folder of the model's files."""
    if model.address.startswith("https:"):
        if not list(folder.rglob(model.checkpoint)):
            folder.mkdir(parents=True, exist_ok=True)
            archive, _ = urllib.request.urlretrieve(model.address)
            with tarfile.open(archive) as content:
                content.extractall(folder, filter="data")
        return next(folder.rglob(model.checkpoint)).parent
    from huggingface_hub import snapshot_download

    wanted = ["*.json", "*.spm", "pytorch_model.bin"]
    return Path(snapshot_download(model.address, local_dir=folder, allow_patterns=wanted))


def newstest2014() -> tuple[str, str]:
    """The files of its 3,003 sentences, which sacreBLEU downloads; wmt14 has the 2,737 that WMT evaluated on."""
    from sacrebleu.utils import get_reference_files, get_source_file

    pair = "-".join(LANGUAGES)
    get_source_file("wmt14", pair)
    return get_source_file("wmt14/full", pair), get_reference_files("wmt14/full", pair)[0]


def translated(model: Published, folder: Path, sources: Sequence[str]) -> list[str]:
    """The model's translations, detokenised, through `aiayn import` and `aiayn translate`."""
    run = folder / "run"
    aiayn = [sys.executable, "-m", "aiayn"]
    if not run.exists():
        checkpoint = folder / model.checkpoint if model.checkpoint else folder
        subprocess.run([*aiayn, "import", f"checkpoint={checkpoint}", f"output={run}"], check=True)
    split = [str(libraries.python()), str(libraries.FOLDER / "pieces.py"), model.kind, str(folder / model.splitter)]
    pieces = subprocess.run(split, input=text(sources), capture_output=True, encoding="utf-8", check=True).stdout
    translate = [*aiayn, "translate", f"run={run}", *model.search]
    found = subprocess.run(translate, input=pieces, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    outputs = found.split("\n")[:-1]
    return moses.detokenized(outputs, LANGUAGES[1]) if model.kind == "subword_nmt" else outputs


@dataclass(frozen=True)
class Newstest2014Content(Content):
    """BLEU of a published model by every definition."""

    schema: ClassVar = "newstest2014/1"

    scores: Mapping[str, Score]
    """The scores, by the names of the definitions."""


def report(name: str, sources: Sequence[str], references: Sequence[str], outputs: Sequence[str]) -> Document:
    """BLEU by every definition."""
    bleu, statistics = corpus_bleu(outputs, references), sentence_statistics(outputs, references)
    scores = {
        "bleu": bleu,
        **quick_matrix(Translations(outputs, references, LANGUAGES[1])),
        **on_test_sets(statistics, sources, references, languages=LANGUAGES, signature=bleu.signature),
    }
    return Document(
        title=f"{MODELS[name].address} on {len(sources):,} sentences",
        written="Written by tests/oracles/newstest2014.py.",
        grids=[definitions({"test": scores})],
        remarks=["no two of these definitions compare"],
        content=Newstest2014Content(scores),
    )


def lines(path: Path) -> list[str]:
    """The lines of a file."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def text(content: Sequence[str]) -> str:
    """Lines, each with its end."""
    return "".join(f"{line}\n" for line in content)


if __name__ == "__main__":
    main()

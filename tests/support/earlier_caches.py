"""Caches as versions made them that cut words at combining marks."""

import json
import shutil
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from aiayn.data.preparation.atomic_cache import MANIFEST, open_or_build, read_verified
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.tokenizer import SubwordTokenizer


def made_earlier(cache: Path, data: PreparedData, tokenizer: SubwordTokenizer) -> str:
    """Replace the tokenizer of a cache's folders, and return the fingerprint of the prepared one."""
    for directory in (*(cache / "tokenizers").glob("[!.]*[!k]"), data.directory):
        parts = {path.name: path.read_bytes() for path in directory.iterdir() if path.name != MANIFEST}
        entries = read_verified(directory)
        for key in ("whole_words", "files", "fingerprint", "manifest_sha256"):
            entries.pop(key, None)
        shutil.rmtree(directory)

        def build(folder: Path, parts: dict[str, bytes] = parts, entries: dict[str, Any] = entries) -> dict[str, Any]:
            for name, content in parts.items():
                (folder / name).write_bytes(content)
            tokenizer.save(folder / "tokenizer.json")
            return entries

        manifest = open_or_build(directory, build)
    return str(manifest["fingerprint"])


def earlier_tokenizer(lines: list[str]) -> SubwordTokenizer:
    """Learned from words that were cut at their marks."""
    backend = Tokenizer(models.BPE())
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    no_text = decoders.Replace(Regex("⟨pad⟩|⟨bos⟩|⟨eos⟩|‿"), "")
    backend.decoder = decoders.Sequence([no_text, decoders.ByteLevel()])
    special, alphabet = ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩"], sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    backend.train_from_iterator(lines, trainer)
    return SubwordTokenizer.from_document({**json.loads(backend.to_str()), "added_tokens": []})

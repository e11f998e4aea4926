"""Run every command of the README and of docs/, shortened to seconds, in an empty folder, and fail if one fails.

`make tour` runs it. A command without a rule below fails the tour, so that no document shows an untried command;
`--list` shows what would be run.
"""

import argparse
import contextlib
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OWN_IDEAS = DOCS / "own-ideas.md"
"""Has the user's own classes, and a row of them."""

PREREGISTRATION = DOCS / "preregistration.md"
"""Has a study of the user's own."""

NOT_RUN = ("log.md", "performance.md")
"""Generated pages, and commands of the past."""

README = ROOT / "README.md"

PROGRAMS = ("aiayn", "wandb", "make", "pip", ".", "eval")
"""The first words of commands in running text; in a block without a language every line is a command."""

SHORT = (
    "optimization.max_steps=10 decoding.limit_sentences=8 decoding.validation_sentences=8 decoding.beam_size=2 "
    "decoding.max_extra_length=2 cost.probe_seconds=0.01"
)
TINY = f"{SHORT} data.sentences=500 data.dev_sentences=8 data.test_sentences=8"

HUB_FOLDER = "data=hub data.path=hub data.source_language=en data.target_language=de tokenizer.vocabulary_size=600"

GIVEN = {
    "train": "train.tok.clean.bpe.32000",
    "dev": "newstest2013.tok.bpe.32000",
    "test": "newstest2014.tok.bpe.32000",
}
"""Files that are already split into sub-words in the documents, by split."""

RUN = re.compile(r"runs/table3/base/demo-seed1-\.\.\.|<run directory>|<another>")
"""A run directory in the documents."""

FIRST_RUN = f"aiayn train scale=demo experiment=table3/base logger.mode=offline {TINY}"
"""The run that later commands name: `make demo`, shortened. Others have no files of W&B, which takes less time."""

SECONDS_EACH = 240


@dataclass(frozen=True)
class Rule:
    """How the tour runs the commands that a pattern matches as a whole; the first rule that matches applies."""

    pattern: str
    runs: str | None
    """The line that is run, in the notation of `re.Match.expand`, @RUN@ for the first run; None: nothing."""
    why: str = ""


RULES = (
    Rule(r"aiayn plan .*", r"\g<0>"),
    Rule(r"make (demo|test|test-long)|nox .*|\.ci/\w+", None, "a stage of its own"),
    Rule(r"pip install .*|\. \.venv/bin/activate", None, "the environment is there already"),
    Rule(r"export PYTHONPATH=\.", None, "the tour's environment has it"),
    Rule(r"export .*|torchrun .*", None, "needs two hosts"),
    Rule(r"aiayn .*(--cfg|--help).*", r"\g<0>"),
    Rule(r"aiayn import .*", r"\g<0> --cfg job", "needs the files of a model: composed only"),
    Rule(r"(sacremoses|spm_encode) .*|make published .*", None, "needs the files of a model"),
    Rule(r"aiayn publish .*repository=.*|aiayn \w+ run=hub:.*", None, "needs the hub"),
    Rule(r"aiayn publish (.*)", r"rm -rf my-model && aiayn publish \1", "several documents make it"),
    Rule(r"aiayn translate run=my-model < .*", r"echo the dog | aiayn translate run=my-model"),
    Rule(r"aiayn report table3 wandb=true", None, "needs an account"),
    Rule(r"aiayn sync( .*)?", r"\g<0> --cfg job", "needs an account: composed only"),
    Rule(r"wandb (login|sweep|agent).*", None, "needs an account"),
    Rule(r"aiayn train (?:-m )?(.*hydra/launcher=slurm.*)", r"aiayn train \1 --cfg job", "needs Slurm: composed only"),
    Rule(r"aiayn train (.*hydra/launcher=ray.*)", r"aiayn train \1 --cfg job", "needs Ray: composed only"),
    Rule(r"(ray|sky|kubectl) .*", None, "needs a cluster"),
    Rule(r"python benchmarks/lab\.py .*|cd FOLDER/clone|\.venv/bin/aiayn .*", None, "days of idle cores"),
    Rule(
        r"aiayn train -m trainer=gpu trainer\.devices=1,2,4,8 (.*)",
        rf"aiayn train -m trainer=cpu trainer.devices=1,2 \1 data=grammar {TINY}",
        "CPU processes for GPUs",
    ),
    Rule(
        r"aiayn train sweeps=table3 (.*)trainer=gpu(?: trainer\.devices=8)?(.*)",
        rf"aiayn train sweeps=table3_e \1trainer=cpu\2 data=grammar {TINY}",
        "CPUs for GPUs, a group of rows for the whole table",
    ),
    Rule(
        r"aiayn train (.*)trainer=gpu trainer\.devices=8",
        rf"aiayn train \1trainer=cpu trainer.devices=2 data=grammar {TINY}",
        "two CPU processes for eight GPUs",
    ),
    Rule(
        r"aiayn train sweeps=table3\w* (.*)",
        rf"aiayn train sweeps=table3_e \1 {TINY}",
        "a group of rows for the whole table",
    ),
    Rule(
        r"aiayn reproduce table2 (.*)",
        rf"aiayn reproduce table2 \1 averaging.interval=2 averaging.checkpoints=3 {TINY}",
        "shortened",
    ),
    Rule(
        r"aiayn reproduce table4 (.*)",
        rf"aiayn reproduce table4 \1 {TINY} decoding.beam_size=3 decoding.max_extra_length=40",
        "shortened, its search too",
    ),
    Rule(
        r"aiayn reproduce table3 (.*)",
        rf"aiayn reproduce table3 \1 paths.runs=two_rows experiment=table3/base,table3/e_learned {TINY}",
        "two rows for the whole table, in a folder of their own, since the tour's runs differ in more than their rows",
    ),
    Rule(
        r"aiayn train sweeps=heads_dk .*",
        rf"aiayn train sweeps=smoothing_dropout optimization.label_smoothing=0.1 model.dropout=0.0,0.1 {TINY}",
        "two runs of a grid",
    ),
    Rule(
        r"aiayn report comparison (.*cosine.*)",
        r"aiayn report comparison \1 only.data=grammar against=@RUN@",
        "the tour's runs are of several corpora",
    ),
    Rule(
        r"aiayn report comparison only\.scale=demo",
        r"\g<0> only.experiment='[table3/base,mine]' only.data=grammar against=@RUN@",
        "the tour's runs are of several corpora",
    ),
    Rule(
        r"aiayn report comparison .*",
        r"aiayn report comparison only.sweep=smoothing_dropout",
        "the grid that was run",
    ),
    Rule(r"aiayn train .*sweeps=cosine_pilots .*", rf"\g<0> {TINY}", "shortened"),
    Rule(
        r"aiayn train .*sweeps=(cosine_study|own_idea) .*",
        rf"\g<0> hydra.sweeper.seeds.base=2 hydra.sweeper.seeds.others=1 {TINY}",
        "fewer seeds, shortened",
    ),
    Rule(r"(aiayn train sweeps=search .*)trials=\d+", rf"\1trials=2 {TINY}", "two trials"),
    Rule(r"aiayn train -m 'experiment=glob\(.*", rf"aiayn train -m 'experiment=glob(table3/a_h1*)' {TINY}", "two rows"),
    Rule(r"(aiayn train .*averaging=base)", rf"\1 averaging.interval=2 averaging.checkpoints=3 {TINY}", "shortened"),
    Rule(
        r"aiayn train (.*) data=multi30k .* optimization\.patience=10 .*",
        rf"aiayn train \1 {HUB_FOLDER} optimization.validation_interval=2 optimization.patience=10 "
        rf"averaging.checkpoints=3 averaging.interval=2 {SHORT}",
        "a folder of the hub's shape, shortened",
    ),
    Rule(r"aiayn train data=(multi30k|hub .*)", rf"aiayn train {HUB_FOLDER} {SHORT}", "a folder of the hub's shape"),
    Rule(
        r"aiayn prepare data=(?:multi30k|wmt14_en_\w+)(.*)",
        rf"aiayn prepare {HUB_FOLDER}\1",
        "a folder of the hub's shape",
    ),
    Rule(r"aiayn prepare scale=paper .*", r"\g<0> --cfg job", "needs WMT14: composed only"),
    Rule(
        r"aiayn train -m (experiment=multi30k/.*) seed=1,2,3", r"aiayn train \1 --cfg job", "needs text: composed only"
    ),
    Rule(
        r"aiayn train (.*)scale=paper (.*data\.pretokenized=true.*)",
        rf"aiayn train \1scale=demo \2 {SHORT}",
        "a smaller model, shortened",
    ),
    Rule(r"aiayn train .*data=text_files.*", rf"\g<0> {SHORT}", "shortened"),
    Rule(
        r"aiayn train experiment=table4/.*data=toy_trees",
        rf"\g<0> {TINY} decoding.beam_size=3 decoding.max_extra_length=40",
        "shortened, its search too",
    ),
    Rule(r"aiayn train experiment=table4/.*", r"\g<0> --cfg job", "needs a treebank: composed only"),
    Rule(r"aiayn report table4", r"\g<0> only.scale=nano", "the documents' runs have two scales"),
    Rule(r"aiayn train .*", rf"\g<0> {TINY}", "shortened"),
    Rule(
        r"aiayn (parse|evaluate) run=runs/table4/\S+ (.*)",
        r'aiayn \1 run="$(ls -d runs/table4/wsj_only/* | head -1)" \2',
        "its own run",
    ),
    Rule(
        r"aiayn report sharpness only.*",
        r"aiayn report sharpness only.scale=demo only.data=grammar only.experiment='[table3/base]'",
        "the tour's runs are of several scales and corpora",
    ),
    Rule(
        r"aiayn report (table3|page)(?: only\.\S+)*(.*)",
        r"aiayn report \1 only.like=@RUN@\2",
        "the tour's runs differ in more than their rows",
    ),
    Rule(
        r"aiayn report matrix run=(\S+)/evaluations/step-\.\.\.",
        r'aiayn report matrix run="$(ls -d \1/evaluations/step-* | head -1)"',
    ),
    Rule(
        r"aiayn dashboard(?: only\.\S+)*(?: dry_run=true)?(.*)",
        r"aiayn dashboard only.like=@RUN@ dry_run=true\1",
        "needs an account: what it would send is shown",
    ),
    Rule(
        r"aiayn attention (.*)word=its(.*)",
        r"aiayn attention max_sentences=1 \1word=father\2",
        "a word of the first sentence",
    ),
    Rule(r"aiayn attention (.*)", r"aiayn attention max_sentences=1 \1", "one sentence"),
    Rule(r"aiayn status watch=true", None, "ends with Ctrl-C, on a terminal"),
    Rule(
        r"aiayn (average|check|compare|evaluate|export|inspect|replay|report|score|status|translate|tune)( .*)?",
        r"\g<0>",
    ),
    Rule(r"echo .* \| aiayn translate .*", r"\g<0>"),
    Rule(r"eval \"\$\(aiayn -sc install=bash\)\"", r"\g<0> && complete -p aiayn"),
)


def page_commands(path: Path) -> list[str]:
    """Every command of a Markdown page, in order: the lines of its blocks without a language.

    Of pages outside docs/, commands in running text as well; in docs/, running text names verbs in passing.
    """
    found = []
    text = path.read_text(encoding="utf-8")
    for language, block, inline in re.findall(r"^```(\w*)\n(.*?)^```$|`([^`\n]+)`", text, re.MULTILINE | re.DOTALL):
        if path.parent != DOCS and inline.partition(" ")[0] in PROGRAMS and " " in inline:
            found.append(inline)
        lines = [] if language else re.sub(r"\\\n\s*", "", block).splitlines()
        found += [command for line in lines if (command := re.sub(r"\s+# .*", "", line).strip())]
    return found


def all_pages() -> list[Path]:
    """The README, on whose runs the others build, and the pages of docs/ that have commands."""
    pages = [page for page in sorted(DOCS.glob("*.md")) if page.name not in NOT_RUN and page_commands(page)]
    return [README, *pages]


def rule_of(command: str) -> Rule | None:
    """The first rule that matches a command."""
    return next((rule for rule in RULES if re.fullmatch(rule.pattern, command)), None)


def adapted(command: str, run: str) -> str | None:
    """The line that the tour runs for a command; None for nothing.

    Args:
        command: as in the documents.
        run: the run directory that takes the place of those left open.
    """
    command = RUN.sub(run, command)
    rule = rule_of(command)
    assert rule is not None
    match = re.fullmatch(rule.pattern, command)
    assert match is not None
    return None if rule.runs is None else match.expand(rule.runs).replace("@RUN@", run)


def in_pieces(line: str) -> str:
    """A line with each long word split in two, marked as subword-nmt does."""
    return re.sub(r"\b(\w{3})(\w+)", r"\1@@ \2", line)


def write_files(folder: Path) -> None:
    """The files that commands of the documents name: a corpus, rows and classes of the user's own."""
    from aiayn.data.grammar.corpora import sentence_pairs

    (folder / "hub").mkdir()
    for split, count in (("train", 500), ("dev", 8), ("test", 8)):
        pairs = list(islice(sentence_pairs(split), count))
        rows = "".join(json.dumps({"en": source, "de": target}) + "\n" for source, target in pairs)
        (folder / "hub" / f"{'validation' if split == 'dev' else split}.jsonl").write_text(rows, encoding="utf-8")
        for language, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines).encode()
            path = folder / f"{split}.{language}{'.gz' if split == 'train' else ''}"
            path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
            given = folder / "wmt16_en_de" / f"{GIVEN[split]}.{language}"
            given.parent.mkdir(exist_ok=True)
            given.write_text("".join(f"{line}\n" for line in map(in_pieces, lines)), encoding="utf-8")
    (folder / "in.txt").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    row = folder / "my_conf" / "experiment" / "mine.yaml"
    row.parent.mkdir(parents=True)
    row.write_text("# @package _global_\n# A row of one's own.\nmodel:\n  num_heads: 4\n")
    (folder / "my_ideas.py").write_text("\n\n".join(code_blocks(OWN_IDEAS, "python")), encoding="utf-8")
    row.with_name("cosine.yaml").write_text("\n\n".join(code_blocks(OWN_IDEAS, "yaml")), encoding="utf-8")
    studies = folder / "my_conf" / "sweeps"
    studies.mkdir()
    for name, block in zip(("cosine_pilots", "cosine_study"), code_blocks(PREREGISTRATION, "yaml"), strict=True):
        (studies / f"{name}.yaml").write_text(block, encoding="utf-8")


def code_blocks(page: Path, language: str) -> list[str]:
    """The blocks of a language of a Markdown page."""
    text = page.read_text(encoding="utf-8")
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return blocks


def execute(command: str, folder: Path) -> tuple[int, str]:
    """Run a line in bash, end all its processes, and return its exit code and its output."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AIAYN_")}
    environment |= {"PYTHONPATH": str(folder), "WANDB_MODE": "disabled"}  # a command's logger.mode overrides it
    environment["PATH"] = f"{sysconfig.get_path('scripts')}{os.pathsep}{environment['PATH']}"
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            ["bash", "-c", command], cwd=folder, env=environment, stdout=said, stderr=said, start_new_session=True
        ) as process,
    ):
        try:
            code = process.wait(timeout=SECONDS_EACH)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        said.seek(0)
        return code, said.read().decode(errors="replace")


def tour(commands: list[str], folder: Path) -> Iterator[str]:
    """Run the commands in order, each line once; print each with its seconds and verdict; yield those that fail."""
    run = ""
    done: set[str | None] = set()
    for command in [FIRST_RUN, *commands]:
        line = adapted(command, run) if run else command
        if line in done:
            continue
        done.add(line or command)
        if line is None:
            rule = rule_of(command)
            assert rule is not None
            print(f"skipped          {command}\n                 ({rule.why})", flush=True)
            continue
        start = time.monotonic()
        code, said = execute(line, folder)
        print(f"{'passed' if code == 0 else 'FAILED'}  {time.monotonic() - start:5.1f} s  {command}", flush=True)
        if line != command:
            rule = rule_of(RUN.sub(run, command))
            print(
                f"                 {line.replace(command, '...', 1)}"
                + (f"  ({rule.why})" if rule and rule.why else ""),
                flush=True,
            )
        if code != 0:
            print(f"exit code {code}:\n{said[-4000:]}", flush=True)
            yield command
        if not run:
            (record,) = folder.glob("runs/table3/base/demo-seed1-*/run.json")
            run = str(record.parent.relative_to(folder))


def main() -> int:
    """Run the tour; the exit code is 1 if a command failed or has no rule."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("pages", nargs="*", type=Path, help="(default: the README and docs/)")
    parser.add_argument("--list", action="store_true", help="show what would be run, and run nothing")
    arguments = parser.parse_args()
    pages = arguments.pages or all_pages()
    commands = list(dict.fromkeys(command for page in pages for command in page_commands(page.resolve())))
    unknown = [command for command in commands if rule_of(RUN.sub("RUN", command)) is None]
    for command in unknown:
        print(f"no rule of {Path(__file__).name} knows how to run: {command}", file=sys.stderr)
    if unknown or not commands:
        return 1
    if arguments.list:
        for command in commands:
            print(f"{command}\n  {adapted(command, 'RUN') or 'skipped'}")
        return 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="aiayn-tour-") as folder:
        write_files(Path(folder))
        failed = list(tour(commands, Path(folder)))
    print(f"{len(commands)} commands in {time.monotonic() - start:.0f} s, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""What this folder adds."""

from aiayn.registry import Command, Extension, Report, Task, Tokenizer

EXTENSION = Extension(
    commands={
        "parse": Command(
            "parse lines of standard input with a run's model",
            module="aiayn.extensions.parsing.command",
            schema="aiayn.extensions.parsing.schema:ParseConfig",
            after="translate",
        )
    },
    reports={
        "table4": Report(
            "aiayn.extensions.parsing.table4:report_table4", (), ("scale", "data"), (".md", ".tex", ".json")
        )
    },
    contents={"table4": "aiayn.extensions.parsing.table4:Table4Content"},
    corpora={
        "toy_trees": "aiayn.extensions.parsing.corpora:toy_trees",
        "trees": "aiayn.extensions.parsing.corpora:treebank",
    },
    tokenizers={
        "symbols": Tokenizer(
            tokenizer="aiayn.extensions.parsing.symbols:SymbolTokenizer",
            constraint="aiayn.extensions.parsing.task:constraint",
        )
    },
    tasks={
        "parsing": Task(
            quality="aiayn.extensions.parsing.task:quality",
            metric="val/f1",
            validation_score="aiayn.extensions.parsing.task:validation_score",
        )
    },
    values=(
        "parse.yaml",
        "hydra/help/parse.yaml",
        "data/gum.yaml",
        "data/toy_trees.yaml",
        "data/treebank.yaml",
        "data/wsj.yaml",
        "data/wsj_silver.yaml",
        "base_trees.yaml",
        "experiment/table4",
        "fidelity_for/table4",
    ),
    sweeps=("table4.yaml",),
)

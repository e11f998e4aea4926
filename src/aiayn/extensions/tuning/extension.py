"""What this folder adds."""

from aiayn.registry import Command, Extension, Sweeper

EXTENSION = Extension(
    commands={
        "tune": Command(
            "choose beam size and length penalty by BLEU on dev",
            has_json=True,
            module="aiayn.extensions.tuning.command",
            schema="aiayn.extensions.tuning.schema:TuneConfig",
            after="parse",
        )
    },
    contents={"tune": "aiayn.extensions.tuning.result:TuneContent"},
    sweepers={
        "search": Sweeper(
            plugin="SearchSweeper",
            schema="aiayn.extensions.tuning.search_schema:SweeperConfig",
            run="aiayn.extensions.tuning.search:search",
            sweep="search",
            package="optuna",
        )
    },
    sweeps=("search.yaml",),
    values=("tune.yaml", "hydra/help/tune.yaml"),
)

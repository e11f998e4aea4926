"""What this folder adds."""

from aiayn.registry import Command, Extension

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
    values=("tune.yaml", "hydra/help/tune.yaml"),
)

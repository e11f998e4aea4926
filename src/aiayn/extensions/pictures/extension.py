"""What this folder adds."""

from aiayn.registry import Command, Extension

EXTENSION = Extension(
    commands={
        "attention": Command(
            "draw the attention weights of a run's model",
            module="aiayn.extensions.pictures.command",
            schema="aiayn.extensions.pictures.schema:AttentionConfig",
            after="import",
        )
    },
    values=("attention.yaml", "hydra/help/attention.yaml"),
)

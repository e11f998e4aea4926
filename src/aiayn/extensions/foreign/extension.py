"""What this folder adds."""

from aiayn.registry import Command, Extension

EXTENSION = Extension(
    commands={
        "export": Command(
            "write a run's model for CTranslate2, or as safetensors",
            module="aiayn.extensions.foreign.export_command",
            schema="aiayn.extensions.foreign.schema:ExportConfig",
            after="replay",
        ),
        "import": Command(
            "make a run directory of a checkpoint of fairseq or Marian",
            module="aiayn.extensions.foreign.import_command",
            schema="aiayn.extensions.foreign.schema:ImportConfig",
            after="publish",
            paths=("checkpoint", "test.source", "test.target"),
        ),
    },
    values=("export.yaml", "import.yaml", "hydra/help/export.yaml", "hydra/help/import.yaml"),
)

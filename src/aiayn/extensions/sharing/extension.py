"""What this folder adds."""

from aiayn.registry import Command, Extension

EXTENSION = Extension(
    commands={
        "replay": Command(
            "repeat a recorded run and state whether the result is the same",
            has_json=True,
            module="aiayn.extensions.sharing.replay_command",
            schema="aiayn.extensions.sharing.schema:ReplayConfig",
            after="compare",
            has_output_folder=True,
            paths=("record",),
        ),
        "publish": Command(
            "write a run as a folder with a model card, or upload it to the Hugging Face hub",
            module="aiayn.extensions.sharing.publish_command",
            schema="aiayn.extensions.sharing.schema:PublishConfig",
            after="export",
            needs={"private": "repository"},
        ),
    },
    contents={"replay": "aiayn.extensions.sharing.replay_report:ReplayContent"},
    runs_elsewhere={"hub:": "aiayn.extensions.sharing.hub:downloaded"},
    values=("publish.yaml", "replay.yaml", "hydra/help/publish.yaml", "hydra/help/replay.yaml"),
)

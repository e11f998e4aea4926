"""What this folder adds."""

from aiayn.registry import Extension, Report

EXTENSION = Extension(
    reports={
        "sharpness": Report(
            "aiayn.extensions.sharpness.report:report_sharpness",
            ("sentences", "device", "trust"),
            ("scale", "data", "sweep", "experiment"),
            (".md", ".json"),
        )
    },
    contents={"sharpness": "aiayn.extensions.sharpness.report:SharpnessContent"},
)

"""What this folder adds."""

from aiayn.registry import Extension, Report, Sweeper

EXTENSION = Extension(
    reports={
        "hypotheses": Report(
            "aiayn.extensions.lab.hypotheses:report_hypotheses",
            ("study", "wandb", "publish", "published"),
            writes=(".md", ".json"),
        )
    },
    contents={
        "hypotheses": "aiayn.extensions.lab.hypotheses:HypothesesContent",
        "study-plan": "aiayn.extensions.lab.study_plan:StudyPlanContent",
    },
    sweepers={
        "registered": Sweeper(
            plugin="RegisteredSweeper",
            schema="aiayn.extensions.lab.schema:RegisteredConfig",
            run="aiayn.extensions.lab.registration:run_study",
            sweep="own_idea",
            jobs="aiayn.extensions.lab.study:job_count",
        )
    },
    studies="aiayn.extensions.lab.planned",
    publications="aiayn.extensions.lab.publication",
    sweeps=(
        "lab_big.yaml",
        "lab_big_pilots.yaml",
        "lab_capacity2.yaml",
        "lab_gpu.yaml",
        "lab_overfitting2.yaml",
        "lab_real_pilot.yaml",
        "own_idea.yaml",
    ),
)

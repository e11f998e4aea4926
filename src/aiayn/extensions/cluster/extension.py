"""What this folder adds."""

from aiayn.registry import Extension, Launcher

EXTENSION = Extension(
    launchers={
        "slurm": Launcher(
            plugin="SlurmJobsLauncher",
            schema="aiayn.extensions.cluster.schema:SlurmConfig",
            scheduler="aiayn.extensions.cluster.slurm:scheduler_of",
            package="submitit",
            outlives_the_command=True,
        ),
        "ray": Launcher(
            plugin="RayJobsLauncher",
            schema="aiayn.extensions.cluster.schema:RayConfig",
            scheduler="aiayn.extensions.cluster.ray:scheduler_of",
            package="ray",
        ),
    },
    values=("hydra/slurm_launcher.yaml", "hydra/ray_launcher.yaml"),
)

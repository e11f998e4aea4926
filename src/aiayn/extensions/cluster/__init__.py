"""The jobs of a sweep on a cluster: `hydra/launcher=slurm` and `hydra/launcher=ray`."""

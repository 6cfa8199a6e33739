"""A Slurm cluster: jobs by Slurm's own commands, its queue by our own kernel."""

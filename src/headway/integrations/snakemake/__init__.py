"""An executor for Snakemake 9: the commands of its jobs run in a service. See docs/snakemake.md."""

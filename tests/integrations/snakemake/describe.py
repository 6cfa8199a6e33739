with open(snakemake.output[0], "w") as file:  # noqa: F821
    print(snakemake.resources.mem_mb, snakemake.threads, file=file)  # noqa: F821

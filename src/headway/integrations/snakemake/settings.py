"""The settings of the executor, as Snakemake reads them. It needs types, so their evaluation is not postponed here."""

from dataclasses import dataclass, field

from snakemake_interface_executor_plugins.settings import CommonSettings, ExecutorSettingsBase

# Local, though commands may run on a cluster: files are shared, `--cores` counts, `tmpdir` is known before a command is
# written, and groups are not formed, since Headway packs commands by itself.
common_settings = CommonSettings(
    non_local_exec=False,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    pass_envvar_declarations_to_cmd=True,
    auto_deploy_default_storage_provider=False,
)


@dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc]
    """The options of `snakemake --executor headway`."""

    on: str = field(
        default="",
        metadata={"help": "Where commands run: on this machine (local), or in jobs of a Slurm cluster (slurm)."},
    )
    fresh: bool = field(default=False, metadata={"help": "Size jobs as if nothing had ever been run."})
    options: str = field(
        default="",
        metadata={"help": "Further options of `headway service`, such as '--partition long --history none'."},
    )

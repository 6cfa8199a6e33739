"""`snakemake --executor headway`: Snakemake finds an executor by the name of its package."""

from headway.integrations.snakemake.executor import Executor
from headway.integrations.snakemake.settings import ExecutorSettings, common_settings

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

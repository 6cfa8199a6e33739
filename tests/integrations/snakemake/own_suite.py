"""The suite that Snakemake has for executors, run by test_snakemake.py."""

from snakemake.common.tests import TestWorkflowsLocalStorageBase


class TestOwnSuite(TestWorkflowsLocalStorageBase):
    __test__ = True

    def get_executor(self) -> str:
        return "headway"

    def get_executor_settings(self) -> None:
        return None

"""Contract suites: what every Sizer, Allocator, WaitModel, Journal and Cluster must do, shipped so that plugin writers
can run them too.

Subclass a suite in a pytest file and say how to make the thing:

    class TestMySizer(SizerContract):
        def make(self, resource):
            return MySizer(resource)
"""

from headway.testing.allocator_contract import AllocatorContract
from headway.testing.cluster_contract import ClusterContract
from headway.testing.journal_contract import JournalContract
from headway.testing.sizer_contract import SizerContract
from headway.testing.wait_contract import WaitContract

__all__ = ["AllocatorContract", "ClusterContract", "JournalContract", "SizerContract", "WaitContract"]

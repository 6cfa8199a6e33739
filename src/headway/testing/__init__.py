"""Contract suites: what every estimator, sizer, allocator, wait model, journal and cluster must do.

They are shipped for plugin authors. Subclass a suite in a pytest file and say how to make the thing:

    class TestMyEstimator(EstimatorContract):
        def make(self):
            return MyEstimator()
"""

from headway.testing.allocator_contract import AllocatorContract
from headway.testing.cluster_contract import ClusterContract
from headway.testing.estimator_contract import EstimatorContract
from headway.testing.journal_contract import JournalContract
from headway.testing.sizer_contract import SizerContract
from headway.testing.wait_contract import WaitContract

__all__ = [
    "AllocatorContract",
    "ClusterContract",
    "EstimatorContract",
    "JournalContract",
    "SizerContract",
    "WaitContract",
]

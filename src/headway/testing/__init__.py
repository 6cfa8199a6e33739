"""Contract suites for everything that a plugin can add, shipped so that plugin authors can run them.

Subclass a suite in a pytest file and say how to make the thing:

    class TestMyEstimator(EstimatorContract):
        def make(self):
            return MyEstimator()
"""

from headway.testing.allocator_contract import AllocatorContract
from headway.testing.cluster_contract import ClusterContract
from headway.testing.estimator_contract import EstimatorContract
from headway.testing.format_contract import TaskLogFormatContract, WorkflowFormatContract
from headway.testing.order_contract import OrderContract
from headway.testing.planner_contract import PlannerContract
from headway.testing.sizer_contract import SizerContract
from headway.testing.wait_contract import WaitContract

__all__ = [
    "AllocatorContract",
    "ClusterContract",
    "EstimatorContract",
    "OrderContract",
    "PlannerContract",
    "SizerContract",
    "TaskLogFormatContract",
    "WaitContract",
    "WorkflowFormatContract",
]

"""The GPUs of a node: which there are, which an attempt may use, what it uses of them, and when their memory ran out.

The driver is asked in processes of their own (`nvml`): a call into a broken driver may never return.
"""

from headway.workers.gpus.finding import NO_GPUS, Found, find_devices
from headway.workers.gpus.isolation import gpu_variables, unwanted_variables
from headway.workers.gpus.out_of_memory import out_of_memory_words

__all__ = ["NO_GPUS", "Found", "find_devices", "gpu_variables", "out_of_memory_words", "unwanted_variables"]

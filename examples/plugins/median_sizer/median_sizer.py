"""A sizer for Headway: the median of the peaks so far, and half as much again."""

from statistics import median

from headway.plugins import Estimate, Estimator


class MedianAndAHalf(Estimator):
    """The median of the peaks so far and half as much again; a task that needs more is retried with twice as much.

    >>> estimator = MedianAndAHalf()
    >>> for peak in (100.0, 200.0, 900.0):
    ...     estimator.learn(Attempt(peak))
    >>> estimator.estimate(Query()).value
    300.0
    """

    name = "median-and-a-half"

    def __init__(self):
        self.peaks = []

    def learn(self, attempt):
        self.peaks.append(attempt.peak)

    def estimate(self, query):
        if not self.peaks:
            return None  # the rules of the resource decide: the user's hint, or a share of the machine
        middle = median(self.peaks)
        text = f"the median of {len(self.peaks)} peaks is {query.show(middle)}; half as much again"
        return Estimate(1.5 * middle, "median", {"median": middle, "factor": 1.5}, text)

    def state(self):
        return {"version": 1, "peaks": self.peaks}

    def restore(self, state):
        self.peaks = list(state["peaks"])

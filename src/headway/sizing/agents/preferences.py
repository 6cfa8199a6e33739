"""`Preferences`: a gradient bandit over numbered actions."""

from __future__ import annotations

from math import exp

from msgspec import Struct, field


class Preferences(Struct):
    """A preference for each action, all 0 at first; a reward below the average lowers the action's preference.

    Zunker 2021, section 2.3.2, after Sutton and Barto, *Reinforcement Learning*, section 2.8.

    >>> two = Preferences()
    >>> two.probabilities(2)
    [0.5, 0.5]
    >>> two.learn(1, -3.0, 0.5, 2)   # the first reward is its own average: nothing changes
    >>> two.learn(2, -1.0, 0.5, 2)   # 0.5 (-1 - -3) (1 - 0.5) = 0.5
    >>> two.values
    {1: -0.5, 2: 0.5}
    """

    values: dict[int, float] = field(default_factory=dict)  # by action, from 1; a missing one is 0
    rewards: int = 0
    mean_reward: float = 0.0

    def probabilities(self, actions: int) -> list[float]:
        """Return the softmax of the preferences for actions 1, 2, … (equation 2.4)."""
        values = [self.values.get(action, 0.0) for action in range(1, actions + 1)]
        highest = max(values)
        weights = [exp(value - highest) for value in values]
        together = sum(weights)
        return [weight / together for weight in weights]

    def choose(self, actions: int, draw: float) -> int:
        """Return an action drawn by its probability; `draw` is from [0, 1)."""
        passed = 0.0
        for action, probability in enumerate(self.probabilities(actions), start=1):
            passed += probability
            if draw < passed:
                return action
        return actions  # rounding left the sum below 1

    def learn(self, action: int, reward: float, step: float, actions: int) -> None:
        """Update the preferences by equations 2.2 and 2.3.

        The average is that of the rewards before this one, as in the example of section 4.2.1; the first reward is
        compared with itself.
        """
        average = self.mean_reward if self.rewards else reward
        pull = step * (reward - average)
        for other, probability in enumerate(self.probabilities(actions), start=1):
            change = pull * (1.0 - probability) if other == action else -pull * probability
            self.values[other] = self.values.get(other, 0.0) + change
        self.rewards += 1
        self.mean_reward += (reward - self.mean_reward) / self.rewards

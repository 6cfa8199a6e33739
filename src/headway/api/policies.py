"""`policies`: the sizers, orders, plans and wait models that can be chosen, built in or from plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from headway.drivers.assemble import orders, plans, sizing_policies, wait_models
from headway.drivers.run_settings import DEFAULT_SIZER
from headway.ordering import DEFAULT_ORDER


class PolicyKind(Struct, frozen=True):
    """The policies that answer one question."""

    name: str  # sizers, orders, plans or waits
    question: str
    policies: dict[str, str]  # what each does, by name
    default: str = ""


class PoliciesResult(Struct, frozen=True):
    """All policies, by kind."""

    kinds: list[PolicyKind]

    def document(self) -> dict[str, Any]:
        """The answer of `headway policies --json`."""
        return {
            kind.name: [
                {"name": name, "default": name == kind.default, "about": about}
                for name, about in sorted(kind.policies.items())
            ]
            for kind in self.kinds
        }


def policies() -> PoliciesResult:
    """List every policy with the first paragraph of its documentation.

    >>> [kind.name for kind in policies().kinds]
    ['sizers', 'orders', 'plans', 'waits']
    """
    sizers = {name: way.about for name, way in sizing_policies().items()}
    planned = {name: plan.words for name, plan in plans().items()}
    return PoliciesResult(
        [
            PolicyKind("sizers", "how much does a task get? (--sizer)", sizers, DEFAULT_SIZER),
            PolicyKind("orders", "which ready task goes first? (--order)", _about(orders()), DEFAULT_ORDER),
            PolicyKind("plans", "which jobs, and when? (simulate --plan)", planned),
            PolicyKind("waits", "how long does a job wait in the queue? (waits --models)", _about(wait_models())),
        ]
    )


def _about(table: Mapping[str, type]) -> dict[str, str]:
    """The first paragraph of each policy's docstring."""
    return {name: " ".join((policy.__doc__ or "").strip().split("\n\n")[0].split()) for name, policy in table.items()}

"""HOW MUCH? One file an algorithm; this table is all of them."""

from __future__ import annotations

from headway.sizing.base import Sizer
from headway.sizing.max_seen import MaxSeen
from headway.sizing.user import User
from headway.sizing.whole_machine import WholeMachine

SIZERS: dict[str, type[Sizer]] = {sizer.name: sizer for sizer in (MaxSeen, User, WholeMachine)}
DEFAULT_SIZER = MaxSeen.name

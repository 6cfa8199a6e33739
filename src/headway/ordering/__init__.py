"""WHICH FIRST? One file an order; this table is all of them."""

from __future__ import annotations

from headway.ordering.base import Order
from headway.ordering.fifo import Fifo

ORDERS: dict[str, type[Order]] = {order.name: order for order in (Fifo,)}
DEFAULT_ORDER = Fifo.name

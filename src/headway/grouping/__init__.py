"""WHICH TOGETHER? Every built-in grouper by name."""

from __future__ import annotations

from headway.grouping.base import Grouper
from headway.grouping.glume import Glume
from headway.grouping.simple import BigJob, LevelByLevel, OneJob, PerStage
from headway.grouping.zhang import Zhang

GROUPERS: dict[str, type[Grouper]] = {
    grouper.name: grouper for grouper in (OneJob, BigJob, LevelByLevel, PerStage, Zhang, Glume)
}

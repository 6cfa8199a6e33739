"""Pictures of the studies: everything inside the picture, and where it belongs."""

from __future__ import annotations

import re

import pytest

from headway.studies.charts import WIDTH
from headway.studies.paired import Interval
from headway_papers.asa.charts import figure_5
from headway_papers.asa.convergence import POLICIES, trial, waits_s
from headway_papers.glume.charts import gain_chart, short_names

# --- the GLUME thesis ---


def test_names_lose_what_all_share_but_the_application() -> None:
    assert list(short_names(["M-50-medium", "S-50-medium", "M-250-medium"]).values()) == ["M-50", "S-50", "M-250"]
    assert list(short_names(["M-250-short", "M-250-long"]).values()) == ["M-short", "M-long"]
    assert short_names(["M-50-long"]) == {"M-50-long": "M-50-long"}


@pytest.mark.parametrize(("gain", "top"), [(0.04, "+10%"), (0.2, "+25%"), (-0.4, "+50%"), (-3.0, "+100%")])
def test_the_scale_is_as_long_as_needed(gain: float, top: str) -> None:
    picture = gain_chart("title", {"M-50-long": {"glume": Interval(gain, None, None)}})
    assert re.findall(r">(\+[\d.]+%)</text>", picture)[-1] == top
    y, height = (float(re.findall(rf'<rect [^>]*{name}="([\d.]+)"', picture)[0]) for name in ("y", "height"))
    tall = float(picture.split('viewBox="0 0 ')[1].split('"')[0].split()[1])
    assert 0 <= y <= y + height <= tall
    assert f"{100 * gain:+.1f}%" in picture, "what is beyond the border is told all the same"


def test_twelve_configurations_fit_a_narrow_window() -> None:
    plans = [f"plan-{number}" for number in range(7)]
    names = [f"{app}-{tasks}-medium" for app in "CGMS" for tasks in (50, 250, 500)]
    picture = gain_chart("title", {name: dict.fromkeys(plans, Interval(0.1, 0.0, 0.2)) for name in names})
    assert float(picture.split('viewBox="0 0 ')[1].split()[0]) <= WIDTH + 1
    assert picture.count("<rect") == 12 * 7


# --- Souza et al. 2020 ---


def test_figure_5_has_a_panel_for_each_policy() -> None:
    trials = [trial(policy, waits_s(1), 1) for policy in POLICIES]
    picture = figure_5(trials)
    assert picture.count(">true wait</title>") == len(POLICIES)
    for policy in POLICIES:
        assert f"{policy}: the predicted wait" in picture
    tall = float(picture.split('viewBox="0 0 ')[1].split('"')[0].split()[1])
    heights = [float(y) for path in re.findall(r' d="([^"]*)"', picture) for y in re.findall(r"[V,]([\d.]+)", path)]
    assert heights
    assert all(0 <= y <= tall for y in heights)

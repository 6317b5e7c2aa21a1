"""bench/model.py against points that were measured and are not what it is made of, within factors that docs/SCALING.md states."""
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import model  # noqa: E402
from suite import markers  # noqa: E402
from suite.mixed import MIX  # noqa: E402

WEIGHTS = {name: int(weight) for name, weight in (part.split("=") for part in MIX.split(","))}
MACHINE = model.Machine()


@pytest.fixture(scope="module")
def costs():
    return model.Costs()


def within(factor, predicted, measured):
    return measured / factor <= predicted <= measured * factor


def test_mixed_traffic_takes_what_its_operations_take(costs):
    rates = [case for case in costs.record.cases("mixed") if case != "highest"]
    by_rate = {int(case.split("/")[0].replace(",", "")): case for case in rates}
    rate, busiest = max(by_rate.items())
    measured = sum(costs.point("mixed", busiest, model.ALL, f"{part}_us") for part in model.PARTS)
    predicted = sum(model.mix_at_us(costs, WEIGHTS, part, rate, model.SERVERS) for part in model.PARTS)
    assert measured / 5 <= predicted <= measured * 1.5, (predicted, measured)


def test_a_badge_grows_with_whom_one_follows_along_a_line(costs):
    points = [(int(case), sum(costs.point("growth: followed", case, "badge", f"{part}_us") for part in model.PARTS))
              for case in costs.record.cases("growth: followed")]
    intercept, slope = model.line_through(points)
    for followed, measured in points[1:-1]:
        assert within(2, intercept + slope * followed, measured), (followed, intercept + slope * followed, measured)


def test_what_a_change_takes_of_each_is_what_it_takes_of_all(costs):
    """Of the server asked, the writer and two followers: nothing is counted twice, and the threads are those that work."""
    for operation in model.CHANGES:
        parts = [costs.asked_us(operation), costs.writer_us(operation), 2 * costs.follower_us(operation)]
        assert min(parts) > 0, (operation, parts)
        assert sum(parts) == pytest.approx(costs.us(operation, "tidings"), rel=0.01)


def test_a_change_takes_about_as_much_whoever_is_asked(costs):
    for operation in model.CHANGES:
        one, three = (sum(costs.us(operation, part, who) for part in model.PARTS) for who in ("writer", model.ALL))
        assert within(2, one, three), (operation, one, three)


def test_twice_the_users_take_twice_the_cores(costs):
    few, many = (model.Plan(costs, model.Community(users), MACHINE) for users in (10**6, 2 * 10**6))
    for of in ("asked_cores", "writer_cores", "follower_cores", "database_cores", "disk_bytes"):
        assert getattr(many, of)() == pytest.approx(2 * getattr(few, of)())


def test_one_log_is_just_full_with_as_many_users_as_it_carries(costs):
    users, first = model.largest(costs, MACHINE, model.COMMUNITIES["10 million"])
    plan = model.Plan(costs, model.Community(int(users), followed=150), MACHINE)
    assert plan.first_full()[0] == first
    assert plan.first_full()[1] == pytest.approx(1, rel=0.05)


def test_a_point_that_is_missing_is_named(tmp_path):
    points = tmp_path / "points.json"
    points.write_text(json.dumps({"parts": {}, "samples": [], "notes": []}))
    with pytest.raises(SystemExit, match="cost, badge"):
        model.Costs(points).us("badge", "mysql")


def test_the_tables_in_the_document_are_those_of_the_points(costs, tmp_path):
    document = tmp_path / "SCALING.md"
    document.write_text((ROOT / "docs/SCALING.md").read_text())
    markers.write(document, model.tables(costs, MACHINE))
    assert document.read_text() == (ROOT / "docs/SCALING.md").read_text(), "make scaling"

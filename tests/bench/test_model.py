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
SERVERS = 3  # that run, of which one is asked


@pytest.fixture(scope="module")
def costs():
    return model.Costs()


def within(factor, predicted, measured):
    return measured / factor <= predicted <= measured * factor


def test_mixed_traffic_takes_what_its_operations_take(costs):
    rates = [case for case in costs.record.cases("mixed") if case != "highest"]
    by_rate = {int(case.split("/")[0].replace(",", "")): case for case in rates}
    rate, busiest = max(by_rate.items())
    measured = sum(costs.point("mixed", busiest, "1 server", f"{part}_us") for part in model.PARTS)
    predicted = sum(model.mix_at_us(costs, WEIGHTS, part, rate, SERVERS) for part in model.PARTS)
    assert measured / 5 <= predicted <= measured * 1.5, (predicted, measured)


def test_a_badge_grows_with_whom_one_follows_along_a_line(costs):
    points = [(int(case), sum(costs.point("growth: followed", case, "badge", f"{part}_us") for part in model.PARTS))
              for case in costs.record.cases("growth: followed")]
    intercept, slope = model.line_through(points)
    for followed, measured in points[1:-1]:
        assert within(2, intercept + slope * followed, measured), (followed, intercept + slope * followed, measured)


def test_another_server_shows_a_post_after_its_answer_and_half_a_look(costs):
    for fans in costs.record.cases("publish", "2 servers"):
        answer, seen = (costs.point("publish", fans, "2 servers", metric) for metric in ("answer_ms", "ms"))
        assert within(3, model.seen_ms(answer), seen), (fans, model.seen_ms(answer), seen)


def test_an_operation_takes_as_much_with_three_servers_as_with_one(costs):
    for operation in ("badge", "first", "mark", "like"):
        one, three = (sum(costs.us(operation, part, servers) for part in model.PARTS) for servers in (1, 3))
        assert within(4, one, three), (operation, one, three)


def test_twice_the_users_take_twice_the_cores(costs):
    few, many = (model.Plan(costs, model.Community(users), MACHINE) for users in (10**7, 2 * 10**7))
    for part in model.PARTS:
        assert many.cores[part] == pytest.approx(2 * few.cores[part])
    assert many.database_bytes() == pytest.approx(2 * few.database_bytes())


def test_one_database_is_just_full_with_as_many_users_as_it_carries(costs):
    users, first = model.largest_unsplit(costs, MACHINE, model.COMMUNITIES["a billion"])
    plan = model.Plan(costs, model.Community(int(users), followed=200), MACHINE)
    assert plan.first_full() == first
    assert plan.database_needs()[first] == pytest.approx(1, rel=0.05)


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

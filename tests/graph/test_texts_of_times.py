"""Times as data and for people."""

from datetime import UTC, datetime, timedelta, timezone

from grantpath.graph.messages import time_text, to_second

AT = datetime(2026, 1, 31, 12, 0, 0, 120_000, tzinfo=UTC)


def test_time_as_data_is_in_utc_or_has_its_offset() -> None:
    assert time_text(AT) == "2026-01-31T12:00:00.120000Z"
    assert time_text(AT.replace(microsecond=0)) == "2026-01-31T12:00:00Z"
    assert time_text(AT.astimezone(timezone(timedelta(hours=2)))) == "2026-01-31T14:00:00.120000+02:00"
    assert time_text(AT.replace(microsecond=0, tzinfo=None)) == "2026-01-31T12:00:00"


def test_time_for_people_is_to_the_second() -> None:
    assert to_second(AT) == "2026-01-31 12:00:00"

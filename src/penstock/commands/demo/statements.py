"""The house: its streams and queries, and how many rows come when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from string import Template

from penstock.sql.binding.catalog import Stream

HERE = Path(__file__).parent
#: Rows per second of each stream in quiet, busy and ordinary hours.
RATES = {
    "motion": (20, 400, 100),
    "temperature": (150, 300, 200),
    "power": (150, 900, 300),
    "doors": (5, 60, 20),
}
#: When the day begins.
MIDNIGHT = datetime(2026, 3, 2)
#: The longest window and the longest delay of a watermark, in hours of the house: so long after its end a day
#: is over for streams that only pause.
TAIL_H = 2.1
#: Seconds for which nothing comes after a day that is not the last one: until somebody says how it goes on.
_PAUSE_S = 1_000_000


def statements(seconds_s: float, before_s: float, *, pauses: bool = False) -> str:
    """The streams and queries, for a day of so many seconds after quiet ones of the evening before.

    With the day the streams end, or pause.
    """
    streams = {}
    for name, (quiet, busy, ordinary) in RATES.items():
        half = ((seconds_s / 4, quiet), (seconds_s / 8, busy), (seconds_s / 8, ordinary))
        phases = ((before_s, quiet), *half, *half)
        text = ", ".join(f"{length_s:g}s at {rate}/s" for length_s, rate in phases)
        rows = round(sum(length_s * rate for length_s, rate in phases))
        streams[name] = (
            f"schedule '{text}, {_PAUSE_S}s at 0/s'" if pauses else f"schedule '{text}', rows '{rows}'"
        )
    speed = 86400 / seconds_s
    start = MIDNIGHT - timedelta(seconds=before_s * speed)
    return Template((HERE / "demo.sql").read_text("utf-8")).substitute(
        streams, speed=f"{speed:.9g}", start=f"{start:%Y-%m-%d %H:%M:%S}"
    )


def going_on(streams: Mapping[str, Stream]) -> str:
    """After a day with a pause, ordinary hours without end; streams that somebody has changed stay so."""
    paused = [name for name in RATES if name in streams and _pauses(streams[name].options)]
    return "\n".join(
        f"ALTER STREAM {name} SET (schedule = NULL, rate = '{RATES[name][2]}/s');" for name in paused
    )


def _pauses(options: Mapping[str, str]) -> bool:
    return options.get("schedule", "").endswith(f"{_PAUSE_S}s at 0/s")

"""What the states of earlier versions hold: a stream, a table, queries with and without memory, a view."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.sql.scoping import Scope

SQL = """\
-- Temperatures of rooms.
CREATE STREAM temps (t TIMESTAMP, room INT, temp DOUBLE, WATERMARK FOR t AS t - INTERVAL 2 SECONDS)
    USING push;
CREATE TABLE rooms (room INT, name STRING) USING csv OPTIONS (path 'rooms.csv');
CREATE VIEW warm AS SELECT t, room, temp FROM temps WHERE temp > 15;
CREATE CONTINUOUS QUERY hot WITH (latency = '2s', weight = 0.5) AS
    SELECT t, room, temp FROM warm WHERE temp > 25;
CREATE CONTINUOUS QUERY cold AS SELECT t, room, temp FROM temps WHERE temp < 10;
CREATE CONTINUOUS QUERY mild AS SELECT t, room, temp FROM temps WHERE temp < 20;
CREATE CONTINUOUS QUERY means AS
    SELECT room, count(*) AS n, avg(temp) AS mean FROM temps GROUP BY room, window(t, '10 s');
CREATE CONTINUOUS QUERY named AS
    SELECT temps.t, rooms.name, temps.temp FROM temps JOIN rooms ON temps.room = rooms.room;
CREATE CONTINUOUS QUERY pairs AS
    SELECT a.room, a.temp AS one, b.temp AS other FROM temps a JOIN temps b
    ON a.room = b.room AND b.t BETWEEN a.t AND a.t + INTERVAL 3 SECONDS WHERE a.temp < b.temp;
SET policy = 'chain';
"""
TABLE = "room,name\n0,hall\n1,kitchen\n2,attic\n"
_START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"t": _START + timedelta(seconds=n - (n % 7 == 3)), "room": n % 3, "temp": float(n * 37 % 41)}
    for n in range(60)
]
#: What a team has on a server, from version 9 on: its statements, a push under a key, a later start.
TEAM = Scope("team", frozenset({"temps"}))
TEAM_SQL = """\
CREATE STREAM orders (id INT) USING push;
CREATE CONTINUOUS QUERY large AS SELECT id FROM orders WHERE id > 10;
CREATE CONTINUOUS QUERY later WITH (start = '2100-01-01 00:00:00') AS SELECT temp FROM default.temps;
"""
ORDERS = [{"id": 5}, {"id": 15}]

"""A small file of statements that the tests of this folder explain."""

from __future__ import annotations

HOME = """\
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, id INT,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS) USING csv OPTIONS (rate '5000/s');
CREATE STREAM doors (t TIMESTAMP, room STRING, open BOOLEAN, id INT, WATERMARK FOR t)
  USING csv OPTIONS (rate '200/s');
CREATE TABLE rooms (room STRING, floor INT) USING csv;
CREATE CONTINUOUS QUERY hot WITH (latency = '2s', memory = '64MB') AS
  SELECT room, temp FROM temps WHERE temp > 30;
CREATE CONTINUOUS QUERY means WITH (weight = 0.5) AS
  SELECT s.room AS place, avg(s.temp) AS mean
  FROM temps s WHERE 30 < s.temp GROUP BY window(s.t, '10 seconds', '5 seconds'), s.room;
"""

#: Joined above filters that the rules bring down.
JOINED = """\
CREATE CONTINUOUS QUERY joined AS
  SELECT a.room, b.open FROM temps [RANGE 10 SECONDS] a JOIN doors [RANGE 5 s] b ON a.room = b.room
  WHERE a.temp > 30 AND b.open;
"""

SPLIT = """\
SPLIT STREAM temps INTO warm WHERE temp > 20, rest OTHERWISE;
CREATE CONTINUOUS QUERY others AS SELECT room FROM rest;
"""

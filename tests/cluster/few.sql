-- One query of each kind: a filter, windows, a join of streams, a join with a table, and queries that run as one.
-- Rows arrive for some seconds, so that there is a middle in which an executor can be killed.

CREATE STREAM readings (
    t TIMESTAMP, id BIGINT, room STRING, temp DOUBLE,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING generator OPTIONS (
    rows '3000', rate '300/s', seed '1', columns.t 'time(100ms, 1s)', columns.id 'sequence',
    columns.room 'choice(hall, attic, cellar)', columns.temp 'normal(20, 8)');

CREATE STREAM doors (
    t TIMESTAMP, id BIGINT, room STRING,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING generator OPTIONS (
    rows '300', rate '30/s', seed '2', columns.t 'time(1s)', columns.id 'sequence',
    columns.room 'choice(hall, attic)');

CREATE TABLE rooms (room STRING, floor INT) USING csv OPTIONS (path 'rooms.csv');

CREATE CONTINUOUS QUERY hot AS SELECT t, id, upper(room) AS room, temp * 1.8 + 32 AS fahrenheit FROM readings WHERE temp > 30;

CREATE CONTINUOUS QUERY means AS
SELECT room, window.end AS until, count(*) AS n, avg(temp) AS mean, collect_list(id) FILTER (WHERE id % 50 = 0) AS some
FROM readings [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY room;

CREATE CONTINUOUS QUERY opened AS
SELECT r.id AS reading, d.id AS door FROM readings [RANGE 2 SECONDS] AS r JOIN doors [RANGE 2 SECONDS] AS d
    ON r.room = d.room WHERE r.temp > 15;

CREATE CONTINUOUS QUERY by_floor AS
SELECT floor, window.end AS until, count(*) AS n, max(temp) AS highest
FROM readings [RANGE 30 SECONDS] LEFT JOIN rooms USING (room) GROUP BY floor;

CREATE CONTINUOUS QUERY above_10 AS SELECT t, id FROM readings WHERE temp > 10 AND id % 2 = 0;
CREATE CONTINUOUS QUERY above_20 AS SELECT t, id FROM readings WHERE temp > 20 AND id % 3 = 0;
CREATE CONTINUOUS QUERY above_25 AS SELECT t, id FROM readings WHERE temp > 25 AND id % 5 = 0;

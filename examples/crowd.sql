-- What many users ask of a building: `penstock verify examples/crowd.sql --crowd 300` makes variants of these
-- queries, which come and go while rows flow, and holds each against plain Spark batch.

CREATE STREAM temps (
    t TIMESTAMP, room STRING, temp DOUBLE, id INT,
    WATERMARK FOR t AS t - INTERVAL 3 SECONDS
) USING generator OPTIONS (
    rows = '3000', seed = '1', columns.t = 'time(20ms, 2s)', columns.room = 'choice(hall, kitchen, bath, attic)',
    columns.temp = 'null(0.02, normal(24, 5))', columns.id = 'uniform(0, 100)'
);

CREATE STREAM doors (
    t TIMESTAMP, room STRING, open BOOLEAN, id INT,
    WATERMARK FOR t AS t - INTERVAL 3 SECONDS
) USING generator OPTIONS (
    rows = '300', seed = '2', columns.t = 'time(200ms, 2s)', columns.room = 'choice(hall, kitchen, bath, attic)',
    columns.id = 'uniform(0, 100)'
);

CREATE TABLE rooms (room STRING, floor INT) USING csv OPTIONS (path 'rooms.csv');

CREATE CONTINUOUS QUERY between AS SELECT t, room, temp FROM temps WHERE temp > 20 AND temp <= 25.5;

CREATE CONTINUOUS QUERY by_number AS SELECT t, room, temp * 1.8 + 32 AS fahrenheit FROM temps WHERE id = 40;

CREATE CONTINUOUS QUERY counted AS
SELECT room, count(*) AS n, max(temp) AS hottest, window.end AS until FROM temps WHERE temp > 24
GROUP BY room, window(t, '4 seconds') HAVING count(*) > 5;

CREATE CONTINUOUS QUERY warm AS
SELECT room, avg(temp) AS mean, window.end AS until FROM temps
GROUP BY room, window(t, '6 seconds', '3 seconds') HAVING avg(temp) > 24;

CREATE CONTINUOUS QUERY warm_for_long AS
SELECT room, min(temp) AS coolest, window.end AS until FROM temps
GROUP BY room, window(t, '12 seconds') HAVING min(temp) > 10;

CREATE CONTINUOUS QUERY visits AS
SELECT room, count(*) AS n, session_window.end AS until FROM temps WHERE id < 12
GROUP BY room, session_window(t, '1 second');

CREATE CONTINUOUS QUERY drafts AS
SELECT x.room, x.temp, d.id AS door FROM temps [RANGE 2 SECONDS] AS x JOIN doors [RANGE 2 SECONDS] AS d
ON x.room = d.room WHERE x.temp < 16 AND d.id > 30;

CREATE CONTINUOUS QUERY entered AS
SELECT x.room, x.temp, d.id AS door FROM temps [RANGE 1 SECOND] AS x JOIN doors [RANGE 1 SECOND] AS d
ON x.room = d.room WHERE d.id = 40;

CREATE CONTINUOUS QUERY unmatched AS
SELECT x.id, d.id AS door FROM temps [RANGE 1 SECOND] AS x LEFT JOIN doors [RANGE 1 SECOND] AS d
ON x.room = d.room AND d.id > 50 WHERE x.temp > 30;

CREATE CONTINUOUS QUERY upstairs AS
SELECT t, floor, temp FROM temps JOIN rooms USING (room) WHERE floor >= 1 AND temp > 28;

CREATE CONTINUOUS QUERY either AS
SELECT t, room, id FROM temps WHERE temp > 34 UNION ALL SELECT t, room, id FROM doors WHERE id < 20;

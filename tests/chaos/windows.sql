-- Windows of every kind over streams with out-of-order and late rows; one of them is read twice by one query.

CREATE STREAM readings (
    t TIMESTAMP, id BIGINT, device STRING, value DOUBLE,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING csv OPTIONS (path 'readings.csv', schedule '6s at 300/s, 2s at 1200/s, 2s at 0/s');

CREATE STREAM alarms (
    t TIMESTAMP, id BIGINT, device STRING,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING json OPTIONS (path 'alarms', arriving 'true', end '_SUCCESS');

CREATE CONTINUOUS QUERY alarming AS
SELECT device, window.end AS until, count(DISTINCT id % 7) AS kinds, max(id) AS last
FROM alarms [RANGE 3 SECONDS] GROUP BY device;

CREATE CONTINUOUS QUERY tumbling AS
SELECT window.start AS since, device, count(*) AS n, sum(id) AS ids, avg(value) AS mean
FROM readings GROUP BY window(t, '2 seconds'), device;

CREATE CONTINUOUS QUERY hopping AS
SELECT window.end AS until, count(*) AS n, max(value) AS highest, collect_list(id) FILTER (WHERE id % 50 = 0) AS some
FROM readings [RANGE 6 SECONDS SLIDE 2 SECONDS] WHERE value > 10;

-- A session that never pauses: its state must neither pin the log nor be lost.
CREATE CONTINUOUS QUERY endless AS
SELECT session_window.start AS since, session_window.end AS until, count(*) AS n, sum(id) AS ids
FROM readings GROUP BY session_window(t, '20 seconds');

CREATE CONTINUOUS QUERY visits AS
SELECT device, session_window.start AS since, count(*) AS n, last(id) AS at
FROM readings WHERE id % 40 = 0 GROUP BY session_window(t, '1 second'), device;

-- A window of rows behind a filter that lets hardly any pass.
CREATE CONTINUOUS QUERY rare AS
SELECT window.start AS since, count(*) AS n, collect_list(id) AS ids
FROM (SELECT * FROM readings WHERE id % 1999 = 7) [ROWS 20];

CREATE CONTINUOUS QUERY both AS
SELECT t, id, 'high' AS kind FROM readings WHERE value > 38
UNION ALL
SELECT t, -id AS id, device AS kind FROM readings WHERE id % 7 = 0;

CREATE CONTINUOUS QUERY both_counted AS
SELECT kind, window.end AS until, count(*) AS n, sum(id) AS ids
FROM (
    SELECT t, id, 'high' AS kind FROM readings WHERE value > 30
    UNION ALL
    SELECT t, id, device AS kind FROM readings WHERE id % 3 = 0
) [RANGE 4 SECONDS] GROUP BY kind;

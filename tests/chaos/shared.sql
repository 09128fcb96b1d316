-- Queries that share operators and get on at their own speed; a stream that falls idle.

CREATE STREAM power (
    t TIMESTAMP, id BIGINT, device STRING, value DOUBLE,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING csv OPTIONS (path 'power.csv', poisson '300/s');

-- Brings rows for a while, then none for long, so that the others must go on without it.
CREATE STREAM doors (
    t TIMESTAMP, id BIGINT, device STRING,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING json OPTIONS (path 'doors', arriving 'true', end '_SUCCESS', idle '2 seconds');

CREATE VIEW strong AS SELECT t, id, device, value * 2 AS twice FROM power WHERE value > 12;

CREATE CONTINUOUS QUERY strong_rows WITH (latency = '1s') AS
SELECT t, id, device, twice FROM strong WHERE id % 2 = 0;

CREATE CONTINUOUS QUERY strong_counts WITH (latency = '30s', weight = 0.2) AS
SELECT device, window.end AS until, count(*) AS n, sum(id) AS ids FROM strong [RANGE 3 SECONDS] GROUP BY device;

CREATE CONTINUOUS QUERY strong_means WITH (freshness = '95%') AS
SELECT device, window.end AS until, avg(twice) AS mean FROM strong [RANGE 3 SECONDS] GROUP BY device;

CREATE CONTINUOUS QUERY busy WITH (memory = '1MB') AS
SELECT until, count(*) AS devices, sum(n) AS n
FROM (SELECT device, window.end AS until, count(*) AS n FROM strong [RANGE 3 SECONDS] GROUP BY device) [ROWS 5]
GROUP BY until;

CREATE CONTINUOUS QUERY strong_doors AS
SELECT s.id AS power, d.id AS door
FROM strong [RANGE 1 SECOND] AS s JOIN doors [RANGE 5 SECONDS] AS d ON s.device = d.device WHERE s.id % 3 = 0;

CREATE CONTINUOUS QUERY everything AS
SELECT window.start AS since, count(*) AS n, sum(id) AS ids
FROM (SELECT t, id FROM strong UNION ALL SELECT t, id FROM doors) [RANGE 4 SECONDS SLIDE 2 SECONDS];

-- Queries that differ in constants: members of three shared queries, one of which remembers rows of both streams.

CREATE CONTINUOUS QUERY above_20 AS SELECT t, id, value * 2 AS x FROM power WHERE value > 20 AND value <= 60;
CREATE CONTINUOUS QUERY above_30 AS SELECT t, id, value * 3 AS y FROM power WHERE value > 30 AND value <= 45.5;

CREATE CONTINUOUS QUERY often_1 AS
SELECT device, window.end AS until, count(*) AS n, sum(id) AS ids FROM power WHERE value > 5
GROUP BY device, window(t, '2 seconds') HAVING count(*) > 1;
CREATE CONTINUOUS QUERY often_2 AS
SELECT device, window.end AS until, count(*) AS n, sum(id) AS ids FROM power WHERE value > 25
GROUP BY device, window(t, '2 seconds') HAVING count(*) > 2;

CREATE CONTINUOUS QUERY near_10 AS
SELECT p.id AS power, d.id AS door FROM power [RANGE 1 SECOND] AS p JOIN doors [RANGE 3 SECONDS] AS d
    ON p.device = d.device WHERE p.value > 10;
CREATE CONTINUOUS QUERY near_30 AS
SELECT p.id AS power, d.id AS door FROM power [RANGE 1 SECOND] AS p JOIN doors [RANGE 3 SECONDS] AS d
    ON p.device = d.device WHERE p.value > 30;

CREATE SINK doors_too FROM strong_doors USING csv OPTIONS (path 'doors_too');

-- Smart plugs of ten houses (DEBS 2014 Grand Challenge), 83 seconds of them: each plug tells its load in watts
-- (property 1) and the work done so far (property 0). The data is not part of Penstock:
-- `penstock verify examples/real/smart-plugs.sql --data DIR`, where DIR has `smart-plugs/smartgrid-data.txt.gz`.

CREATE STREAM plugs (
    t TIMESTAMP, value DOUBLE, property INT, plug INT, household INT, house INT,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING csv OPTIONS (
    path 'smart-plugs/smartgrid-data.txt.gz', header = 'false', delimiter = 'spaces', timestamps = 's'
);

CREATE VIEW loads AS
SELECT t, house, household, plug, value AS watts FROM plugs WHERE property = 1;

CREATE VIEW plug_means AS
SELECT house, household, plug, avg(watts) AS mean, window
FROM loads GROUP BY house, household, plug, window(t, '10 seconds', '5 seconds');

-- The load of each house: what the challenge's first query predicts from.
CREATE CONTINUOUS QUERY house_load WITH (latency = '2s') AS
SELECT house, avg(watts) AS mean, sum(watts) AS total, count(DISTINCT household, plug) AS plugs, window.end AS until
FROM loads [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY house;

-- Outliers, the challenge's second query: the share of a house's plugs above the mean of all plugs.
CREATE CONTINUOUS QUERY outliers WITH (latency = '5s', weight = 0.5) AS
SELECT p.house, count(*) AS plugs, count(*) FILTER (WHERE p.mean > m.everywhere) AS above, p.window
FROM plug_means AS p
JOIN (SELECT window, avg(mean) AS everywhere FROM plug_means GROUP BY window) AS m ON p.window = m.window
GROUP BY p.house, p.window;

-- Plugs that were switched on: the load is far above what it was at most three seconds ago.
CREATE CONTINUOUS QUERY switched_on AS
SELECT a.house, a.household, a.plug, b.t, a.watts AS before, b.watts AS now
FROM loads [RANGE 3 SECONDS] AS a JOIN loads [RANGE 1 SECOND] AS b
    ON a.house = b.house AND a.household = b.household AND a.plug = b.plug AND a.t < b.t
WHERE b.watts > a.watts + 20;

-- How long plugs draw much.
CREATE CONTINUOUS QUERY busy AS
SELECT house, household, plug, max(watts) AS most, count(*) AS reports, first(watts) AS began, last(watts) AS ended,
    session_window.start AS since, session_window.end AS until
FROM loads WHERE watts > 100 GROUP BY house, household, plug, session_window(t, '5 seconds');

-- Work that households have done within each thousand reports of all.
CREATE CONTINUOUS QUERY work AS
SELECT house, household, max(value) - min(value) AS work, window
FROM (SELECT * FROM plugs WHERE property = 0) [ROWS 1000] GROUP BY house, household;

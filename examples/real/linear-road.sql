-- Linear Road: position reports of cars on an expressway, 520 seconds of them. The data is not part of Penstock:
-- `penstock verify examples/real/linear-road.sql --data DIR`, where DIR has `linear-road/lrb-data-small-ht.txt.gz`.

CREATE STREAM reports (
    t TIMESTAMP, vehicle INT, speed INT, xway INT, lane INT, dir INT, position INT,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING csv OPTIONS (
    path 'linear-road/lrb-data-small-ht.txt.gz', header = 'false', delimiter = 'spaces', timestamps = 's'
);

CREATE VIEW located AS
SELECT t, vehicle, speed, xway, lane, dir, position, position div 5280 AS segment FROM reports;

CREATE VIEW speeds AS
SELECT xway, dir, segment, avg(speed) AS mean, count(DISTINCT vehicle) AS cars, window
FROM located GROUP BY xway, dir, segment, window(t, '2 minutes', '1 minute');

-- A car that reports the same position again and again has stopped.
CREATE VIEW stopped_cars AS
SELECT vehicle, xway, lane, dir, position, count(*) AS reports, window
FROM reports GROUP BY vehicle, xway, lane, dir, position, window(t, '2 minutes', '30 seconds')
HAVING count(*) > 1;

CREATE CONTINUOUS QUERY segment_speed WITH (latency = '5s') AS
SELECT xway, dir, segment, mean, cars, window.end AS until FROM speeds;

CREATE CONTINUOUS QUERY stopped WITH (latency = '2s') AS
SELECT vehicle, xway, lane, dir, position, reports, window.end AS until FROM stopped_cars;

-- Two cars that stand at one place.
CREATE CONTINUOUS QUERY accidents WITH (latency = '2s', weight = 1.0) AS
SELECT a.xway, a.dir, a.position, a.vehicle AS one, b.vehicle AS other, a.window.end AS until
FROM stopped_cars AS a JOIN stopped_cars AS b
    ON a.window = b.window AND a.xway = b.xway AND a.dir = b.dir AND a.position = b.position
WHERE a.vehicle < b.vehicle;

-- Where cars are many and slow, those that are there pay.
CREATE CONTINUOUS QUERY tolls WITH (latency = '5s') AS
SELECT c.xway, c.dir, c.segment, c.cars, s.mean, 2 * (c.cars - 2) * (c.cars - 2) AS toll, c.window.end AS until
FROM (
    SELECT xway, dir, segment, count(DISTINCT vehicle) AS cars, window
    FROM located WHERE lane < 4 GROUP BY xway, dir, segment, window(t, '2 minutes', '1 minute')
) AS c
JOIN speeds AS s ON c.window = s.window AND c.xway = s.xway AND c.dir = s.dir AND c.segment = s.segment
WHERE s.mean < 60 AND c.cars > 2;

-- A car that has come into another segment since its last report.
CREATE CONTINUOUS QUERY crossings AS
SELECT b.t, b.vehicle, a.segment AS was, b.segment AS entered
FROM located [RANGE 35 SECONDS] AS a JOIN located [RANGE 1 SECOND] AS b
    ON a.vehicle = b.vehicle AND a.t < b.t AND a.segment <> b.segment;

CREATE CONTINUOUS QUERY latest AS
SELECT vehicle, last(position) AS position, last(speed) AS speed, count(*) AS reports, window
FROM reports [ROWS 2000 SLIDE 1000] GROUP BY vehicle;

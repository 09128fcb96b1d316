-- Joins of streams, of a stream with itself, with a sparse stream, and with a table that changes.

CREATE STREAM clicks (
    t TIMESTAMP, id BIGINT, device STRING, value DOUBLE,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING csv OPTIONS (path 'clicks.csv', rate '200/s');

-- Files keep arriving, with rows that are late and rows that do not parse.
CREATE STREAM orders (
    t TIMESTAMP, id BIGINT, device STRING,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING json OPTIONS (path 'orders', arriving 'true', end '_SUCCESS', idle '4 seconds');

CREATE STREAM sparse (
    t TIMESTAMP, id BIGINT, device STRING,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING generator OPTIONS (
    rows '$sparse', rate '1/s', seed '3', columns.t 'time(1s)', columns.id 'sequence',
    columns.device 'choice(d0, d1, d2)');

CREATE TABLE places (device STRING, place STRING, version INT) USING csv OPTIONS (path 'places.csv');

CREATE CONTINUOUS QUERY bought AS
SELECT c.id AS click, o.id AS bought, c.device
FROM clicks AS c JOIN orders AS o
ON c.device = o.device AND c.t BETWEEN o.t - INTERVAL 2 SECONDS AND o.t;

CREATE CONTINUOUS QUERY looked_only AS
SELECT c.id AS click, o.id AS bought
FROM clicks AS c LEFT JOIN orders AS o
ON c.device = o.device AND o.t BETWEEN c.t - INTERVAL 1 SECOND AND c.t + INTERVAL 1 SECOND
WHERE c.id % 3 = 0;

CREATE CONTINUOUS QUERY again AS
SELECT x.id AS first, y.id AS second
FROM clicks [RANGE 2 SECONDS] AS x JOIN clicks [RANGE 1 SECOND] AS y ON x.device = y.device
WHERE x.id % 10 = 0 AND y.id % 5 = 1;

CREATE CONTINUOUS QUERY last_few AS
SELECT c.id AS click, s.id AS rare
FROM clicks [ROWS 50] AS c JOIN sparse [ROWS 3] AS s ON c.device = s.device;

CREATE CONTINUOUS QUERY placed AS
SELECT c.id, c.device, place, version
FROM clicks AS c LEFT JOIN places USING (device) WHERE c.id % 4 = 0;

CREATE CONTINUOUS QUERY per_place AS
SELECT place, version, window.end AS until, count(*) AS n
FROM orders [RANGE 3 SECONDS] JOIN places USING (device) GROUP BY place, version;

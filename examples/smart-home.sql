-- A smart home: four questions about two streams, whose rows are made up: 80 seconds in four.
-- `penstock explain examples/smart-home.sql`, `penstock run examples/smart-home.sql --out out`

CREATE STREAM temps (
    t TIMESTAMP, room STRING, temp DOUBLE,
    WATERMARK FOR t AS t - INTERVAL 5 SECONDS
) USING generator OPTIONS (
    rate = '1000/s', rows = '4000', seed = '1',
    columns.t = 'time(20ms, 4s)', columns.room = 'choice(hall, kitchen, bath, attic, cellar)',
    columns.temp = 'null(0.01, normal(24, 5))'
);

CREATE STREAM doors (
    t TIMESTAMP, room STRING, open BOOLEAN,
    WATERMARK FOR t AS t - INTERVAL 5 SECONDS
) USING generator OPTIONS (
    rate = '50/s', rows = '200', seed = '2',
    columns.t = 'time(400ms, 4s)', columns.room = 'choice(hall, kitchen, bath, attic, cellar)'
);

CREATE TABLE rooms (room STRING, floor INT) USING csv OPTIONS (path 'rooms.csv');

CREATE CONTINUOUS QUERY alarm WITH (latency = '2s', weight = 1.0) AS
SELECT t, room, temp FROM temps WHERE temp > 30;

CREATE CONTINUOUS QUERY hot_rooms WITH (latency = '20s', tolerance = '20%', weight = 0.3) AS
SELECT room, avg(temp) AS mean, window.end AS until
FROM temps [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE 30 < temp GROUP BY room;

CREATE CONTINUOUS QUERY windows_open WITH (freshness = '95%') AS
SELECT x.room, x.temp, d.t AS opened
FROM temps [RANGE 1 MINUTE] AS x JOIN doors [RANGE 10 MINUTES] AS d ON x.room = d.room
WHERE x.temp > 30 AND d.open;

CREATE CONTINUOUS QUERY floors WITH (memory = '64MB') AS
SELECT floor, count(*) AS readings, max(temp) AS hottest
FROM temps JOIN rooms USING (room) GROUP BY floor, window(t, '1 minute');

-- A day in a smart home, played in a minute: `penstock demo`.
-- What begins with a dollar sign is filled in by demo.py: how many rows arrive when, and how fast the clock runs.

CREATE STREAM motion (
    t TIMESTAMP, room STRING, sensor INT, level DOUBLE,
    WATERMARK FOR t AS t - INTERVAL 5 MINUTES
) USING generator OPTIONS (
    $motion, seed '1', start '$start',
    columns.t 'arrival($speed, 5min)', columns.sensor 'uniform(1, 24)', columns.level 'uniform(0, 1)',
    columns.room 'choice(hall, kitchen, living, garage, bedroom, nursery, bath, study, cellar)'
);

CREATE STREAM temperature (
    t TIMESTAMP, room STRING, celsius DOUBLE,
    WATERMARK FOR t AS t - INTERVAL 5 MINUTES
) USING generator OPTIONS (
    $temperature, seed '2', start '$start',
    columns.t 'arrival($speed, 6min)', columns.celsius 'null(0.002, normal(21, 4))',
    columns.room 'choice(hall, kitchen, living, garage, bedroom, nursery, bath, study, cellar)'
);

CREATE STREAM power (
    t TIMESTAMP, room STRING, plug INT, watts DOUBLE,
    WATERMARK FOR t AS t - INTERVAL 5 MINUTES
) USING generator OPTIONS (
    $power, seed '3', start '$start',
    columns.t 'arrival($speed, 5min)', columns.plug 'zipf(40, 1.1)', columns.watts 'normal(900, 700)',
    columns.room 'choice(hall, kitchen, living, garage, bedroom, nursery, bath, study, cellar)'
);

CREATE STREAM doors (
    t TIMESTAMP, room STRING, open BOOLEAN,
    WATERMARK FOR t AS t - INTERVAL 5 MINUTES
) USING generator OPTIONS (
    $doors, seed '4', start '$start',
    columns.t 'arrival($speed, 5min)', columns.open 'choice(true, false)',
    columns.room 'choice(hall, kitchen, living, garage, bedroom)'
);

CREATE TABLE rooms (room STRING, floor INT, square_metres DOUBLE, heated BOOLEAN)
USING csv OPTIONS (path 'rooms.csv');

-- Alarms: each row by itself, soon.

CREATE CONTINUOUS QUERY fire WITH (latency = '1s', weight = 1.0) AS
SELECT t, room, celsius FROM temperature WHERE celsius > 33;

CREATE CONTINUOUS QUERY frost WITH (latency = '2s', weight = 0.8) AS
SELECT x.t, x.room, x.celsius FROM temperature AS x JOIN rooms AS r ON x.room = r.room
WHERE x.celsius < 12 AND r.heated;

CREATE CONTINUOUS QUERY overload WITH (latency = '1s', weight = 1.0) AS
SELECT t, room, plug, watts FROM power WHERE watts > 2500;

CREATE CONTINUOUS QUERY night_doors WITH (latency = '2s', weight = 0.9) AS
SELECT t, room FROM doors WHERE open AND hour(t) NOT BETWEEN 6 AND 21;

-- Three that begin alike.

CREATE CONTINUOUS QUERY warm WITH (freshness = '70%', weight = 0.5) AS
SELECT t, room, celsius FROM temperature WHERE celsius > 26;

CREATE CONTINUOUS QUERY warm_rooms WITH (latency = '3s') AS
SELECT room, count(*) AS readings, max(celsius) AS warmest, window.end AS until
FROM temperature WHERE celsius > 26 GROUP BY room, window(t, '30 minutes');

CREATE CONTINUOUS QUERY warm_floors WITH (latency = '3s', weight = 0.4) AS
SELECT r.floor, avg(x.celsius) AS mean, window.end AS until
FROM temperature AS x JOIN rooms AS r ON x.room = r.room
WHERE x.celsius > 26 GROUP BY r.floor, window(x.t, '1 hour');

-- Windows of time, of rows, of activity.

CREATE CONTINUOUS QUERY climate WITH (latency = '2s', memory = '2MB') AS
SELECT room, avg(celsius) AS mean, min(celsius) AS coldest, window.end AS until
FROM temperature [RANGE 30 MINUTES] GROUP BY room;

CREATE CONTINUOUS QUERY hottest WITH (latency = '3s', weight = 0.3) AS
SELECT room, max(celsius) AS hottest, window.end AS until
FROM temperature [RANGE 2 HOURS SLIDE 30 MINUTES] GROUP BY room;

CREATE CONTINUOUS QUERY energy WITH (latency = '3s', weight = 0.6) AS
SELECT r.floor, sum(p.watts) AS watts, max(p.watts / r.square_metres) AS per_square_metre, window.end AS until
FROM power AS p JOIN rooms AS r ON p.room = r.room GROUP BY r.floor, window(p.t, '1 hour');

CREATE CONTINUOUS QUERY thirsty_plugs WITH (memory = '4MB', weight = 0.3) AS
SELECT plug, count(*) AS readings, avg(watts) AS mean, window.end AS until
FROM power GROUP BY plug, window(t, '1 hour') HAVING avg(watts) > 900;

CREATE CONTINUOUS QUERY every_thousand WITH (latency = '2s', weight = 0.3) AS
SELECT avg(watts) AS mean, stddev(watts) AS deviation, window.end AS rows_seen FROM power [ROWS 1000];

CREATE CONTINUOUS QUERY visits WITH (latency = '5s', weight = 0.5) AS
SELECT room, count(*) AS movements, session_window.start AS came, session_window.end AS went
FROM motion WHERE level > 0.2 GROUP BY room, session_window(t, '10 minutes');

CREATE CONTINUOUS QUERY crowded WITH (latency = '3s') AS
SELECT room, count(*) AS movements, window.end AS until
FROM motion GROUP BY room, window(t, '15 minutes') HAVING count(*) > 25;

CREATE CONTINUOUS QUERY in_use WITH (freshness = '50%') AS
SELECT DISTINCT room FROM motion [RANGE 30 MINUTES];

-- Several streams.

CREATE CONTINUOUS QUERY unattended WITH (latency = '4s', memory = '8MB', weight = 0.7) AS
SELECT p.t, p.room, p.plug, p.watts
FROM power AS p LEFT JOIN motion AS m
    ON p.room = m.room AND m.t BETWEEN p.t - INTERVAL 10 MINUTES AND p.t + INTERVAL 5 MINUTES
WHERE p.watts > 2200 AND m.room IS NULL;

CREATE CONTINUOUS QUERY draught WITH (latency = '3s', weight = 0.7) AS
SELECT x.room, x.t, x.celsius, d.t AS opened
FROM temperature AS x JOIN doors AS d
    ON x.room = d.room AND x.t BETWEEN d.t AND d.t + INTERVAL 10 MINUTES
WHERE d.open AND x.celsius < 14;

CREATE CONTINUOUS QUERY activity WITH (latency = '3s', weight = 0.4) AS
SELECT room, count(*) AS events, window.end AS until
FROM (SELECT t, room FROM motion UNION ALL SELECT t, room FROM doors)
GROUP BY room, window(t, '30 minutes');

CREATE CONTINUOUS QUERY comfort WITH (latency = '5s', weight = 0.2) AS
SELECT a.room, a.mean, b.watts, a.until
FROM (SELECT room, window, window.end AS until, avg(celsius) AS mean FROM temperature
      GROUP BY room, window(t, '1 hour')) AS a
JOIN (SELECT room, window, sum(watts) AS watts FROM power GROUP BY room, window(t, '1 hour')) AS b
    ON a.room = b.room AND a.window = b.window;

CREATE CONTINUOUS QUERY doors_by_floor WITH (freshness = '60%', weight = 0.2) AS
SELECT r.floor, count(*) AS times, window.end AS until
FROM doors AS d JOIN rooms AS r ON d.room = r.room
WHERE d.open GROUP BY r.floor, window(d.t, '1 hour');

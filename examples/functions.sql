-- Functions in Python, of the module fraud.py beside this file, and queries that call them:
--   penstock run examples/functions.sql
--   penstock verify examples/functions.sql
CREATE STREAM orders (
    t TIMESTAMP, id BIGINT, amount DOUBLE, country STRING,
    WATERMARK FOR t AS t - INTERVAL 1 SECOND
) USING generator OPTIONS (
    rows '20000', seed '1', columns.t 'time(2ms, 1s)', columns.id 'sequence', columns.amount 'uniform(5, 1500)', columns.country 'choice(at, de, us, fr)'
);

CREATE FUNCTION score (amount DOUBLE, country STRING) RETURNS DOUBLE
    AS 'fraud:score' LANGUAGE PYTHON DETERMINISTIC OPTIONS (timeout '2s', memory '64MB');
CREATE FUNCTION net (gross DOUBLE) RETURNS DOUBLE AS 'fraud:net' LANGUAGE PYTHON DETERMINISTIC;
CREATE AGGREGATE FUNCTION spread (amount DOUBLE) RETURNS DOUBLE AS 'fraud:spread' LANGUAGE PYTHON DETERMINISTIC;

-- These three differ in a constant: they are one step, and each order is scored once.
CREATE CONTINUOUS QUERY worth_a_look WITH (latency = '5s') AS
    SELECT id, score(amount, country) AS risk FROM orders WHERE score(amount, country) > 0.5;
CREATE CONTINUOUS QUERY risky WITH (latency = '2s') AS
    SELECT id, score(amount, country) AS risk FROM orders WHERE score(amount, country) > 0.8;
CREATE CONTINUOUS QUERY stopped WITH (latency = '1s') AS
    SELECT id, score(amount, country) AS risk FROM orders WHERE score(amount, country) > 0.99;

CREATE CONTINUOUS QUERY spreads AS
    SELECT country, window.end AS until, spread(net(amount)) AS spread, count(*) AS orders
    FROM orders [RANGE 5 SECONDS] GROUP BY country;

-- The streams of the NEXMark benchmark: an auction house. Times may be up to four seconds out of order.
-- The rows are made up: 80 seconds of its life in four.

CREATE STREAM person (
    id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
    dateTime TIMESTAMP, extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) USING generator OPTIONS (
    rate = '20/s', rows = '80', seed = '1', columns.id = 'sequence',
    columns.name = 'choice(Peter Jones, Paul Smith, Kate Walton, Sarah Bartels)',
    columns.city = 'choice(Portland, Boise, San Francisco, Seattle)',
    columns.state = 'choice(OR, ID, CA, WA)', columns.dateTime = 'time(1s, 3s)'
);

CREATE STREAM auction (
    id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
    dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) USING generator OPTIONS (
    rate = '60/s', rows = '240', seed = '2', columns.id = 'sequence',
    columns.initialBid = 'uniform(1, 1000)', columns.reserve = 'uniform(1000, 100000)',
    columns.dateTime = 'time(333ms, 3s)', columns.seller = 'uniform(0, 79)', columns.category = 'uniform(10, 14)',
    columns.expires = 'choice(2026-01-01 00:00:40, 2026-01-01 00:01:00, 2026-01-01 00:01:30)'
);

CREATE STREAM bid (
    auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
    dateTime TIMESTAMP, extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) USING generator OPTIONS (
    rate = '920/s', rows = '3680', seed = '3', columns.auction = 'zipf(239, 0.8)',
    columns.bidder = 'uniform(0, 79)', columns.price = 'uniform(100, 3000000)',
    columns.channel = 'choice(Apple, Google, Facebook, Baidu, channel-7, channel-12)',
    columns.url = 'choice(https://auction/a/b/item.htm?query=1, https://auction/c/d?query=2&channel_id=7)',
    columns.dateTime = 'time(21.7ms, 3s)', columns.extra = 'choice(abc, cccc, null)'
);

CREATE TABLE side_input (key BIGINT, value STRING) USING csv OPTIONS (path 'side_input.csv');

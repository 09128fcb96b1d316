-- The streams of the NEXMark benchmark: an auction house. Times may be up to four seconds out of order.

CREATE STREAM person (
    id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING,
    dateTime TIMESTAMP, extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) USING json OPTIONS (path 'data/person.json', rate = '20/s');

CREATE STREAM auction (
    id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
    dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) USING json OPTIONS (path 'data/auction.json', rate = '60/s');

CREATE STREAM bid (
    auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
    dateTime TIMESTAMP, extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) USING json OPTIONS (path 'data/bid.json', rate = '920/s');

CREATE TABLE side_input (key BIGINT, value STRING) USING csv OPTIONS (path 'data/side_input.csv');

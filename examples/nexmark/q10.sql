-- Query 10, log to files: all bids, with the day and the minute they belong to.
CREATE CONTINUOUS QUERY q10 AS
SELECT auction, bidder, price, dateTime, extra,
    date_format(dateTime, 'yyyy-MM-dd') AS dt, date_format(dateTime, 'HH:mm') AS hm
FROM bid;

CREATE SINK log FROM q10 USING parquet OPTIONS (path 'out/bids');

-- Query 18, find the last bid of each bidder on each auction. The benchmark keeps one row of ROW_NUMBER for ever;
-- here it is the last of each day.
CREATE CONTINUOUS QUERY q18 AS
SELECT auction, bidder, window.end AS day_end, last(struct(price, channel, url, dateTime, extra)) AS bid
FROM bid GROUP BY auction, bidder, window(dateTime, '1 day');

-- Query 16, channel statistics: the same for each channel.
CREATE CONTINUOUS QUERY q16 AS
SELECT channel,
    date_format(window.start, 'yyyy-MM-dd') AS day,
    max(date_format(dateTime, 'HH:mm')) AS minute,
    count(*) AS total_bids,
    count(*) FILTER (WHERE price < 10000) AS rank1_bids,
    count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
    count(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
    count(DISTINCT bidder) AS total_bidders,
    count(DISTINCT auction) AS total_auctions
FROM bid GROUP BY channel, window(dateTime, '1 day');

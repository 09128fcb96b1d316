-- Query 7, highest bid: in each ten seconds.
CREATE CONTINUOUS QUERY q7 AS
SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra
FROM bid AS b
JOIN (SELECT window.end AS ends, max(price) AS maxprice FROM bid GROUP BY window(dateTime, '10 seconds')) AS m
    ON b.price = m.maxprice
WHERE b.dateTime >= m.ends - INTERVAL 10 SECONDS AND b.dateTime < m.ends;

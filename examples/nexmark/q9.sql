-- Query 9, winning bids: the highest bid on each auction, of equal ones the earliest. The benchmark ranks with
-- ROW_NUMBER; here the best bid is an aggregate. Auctions last an hour at most.
CREATE CONTINUOUS QUERY q9 AS
SELECT a.id, a.itemName, a.category, a.expires,
    max_by(
        struct(b.bidder, b.price, b.dateTime, b.extra), struct(b.price, -unix_micros(b.dateTime))
    ) AS winner
FROM auction [RANGE 1 HOUR] AS a
JOIN bid [RANGE 1 HOUR] AS b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
GROUP BY a.id, a.itemName, a.category, a.expires, window(a.dateTime, '1 hour');

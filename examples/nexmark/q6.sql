-- Query 6, average selling price by seller: of the last ten auctions of each seller.
-- Refused: a window per seller by row count needs OVER, which is not supported.
CREATE CONTINUOUS QUERY q6 AS
SELECT seller, avg(final) OVER (PARTITION BY seller ORDER BY dateTime ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
FROM (
    SELECT a.seller, max(b.price) AS final, max(b.dateTime) AS dateTime
    FROM auction [RANGE 1 HOUR] AS a
    JOIN bid [RANGE 1 HOUR] AS b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
    GROUP BY a.id, a.seller, window(a.dateTime, '1 hour')
);

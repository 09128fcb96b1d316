-- Query 4, average price for a category: of the highest bid on each auction. Auctions last an hour at most.
CREATE CONTINUOUS QUERY q4 AS
SELECT category, window, avg(final) AS average
FROM (
    SELECT a.id, a.category, window, max(b.price) AS final
    FROM auction [RANGE 1 HOUR] AS a
    JOIN bid [RANGE 1 HOUR] AS b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
    GROUP BY a.id, a.category, window(a.dateTime, '1 hour')
)
GROUP BY category, window;

-- Query 14, calculation: conversions, a time of day, and how often a letter occurs.
CREATE CONTINUOUS QUERY q14 AS
SELECT auction, bidder, 0.908 * price AS price,
    CASE
        WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime'
        WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
        ELSE 'otherTime'
    END AS bidTimeType,
    dateTime, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;

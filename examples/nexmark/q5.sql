-- Query 5, hot items: which auctions had most bids in the last ten seconds, every two seconds?
CREATE CONTINUOUS QUERY q5 AS
WITH counts AS (
    SELECT auction, count(*) AS num, window
    FROM bid GROUP BY auction, window(dateTime, '10 seconds', '2 seconds')
)
SELECT hot.auction, hot.num
FROM counts AS hot
JOIN (SELECT window, max(num) AS maxn FROM counts GROUP BY window) AS most
    ON hot.window = most.window AND hot.num >= most.maxn;

-- Query 19, auction top 10: the ten highest bids of each auction.
-- Refused: ranking rows needs OVER, which is not supported.
CREATE CONTINUOUS QUERY q19 AS
SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
) WHERE rank_number <= 10;

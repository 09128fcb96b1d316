-- Query 12, processing time windows: bids per bidder in ten seconds of the clock on the wall.
-- Refused: results would depend on when the rows were processed, not on the rows.
CREATE CONTINUOUS QUERY q12 AS
SELECT bidder, count(*) AS bid_count FROM bid GROUP BY bidder, window(now(), '10 seconds');

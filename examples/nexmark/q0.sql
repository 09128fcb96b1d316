-- Query 0, pass through: what it costs to do nothing.
CREATE CONTINUOUS QUERY q0 AS
SELECT auction, bidder, price, dateTime, extra FROM bid;

-- Query 1, currency conversion: bids in euros.
CREATE CONTINUOUS QUERY q1 AS
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid;

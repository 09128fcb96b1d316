-- Query 2, selection: bids on certain auctions.
CREATE CONTINUOUS QUERY q2 AS
SELECT auction, price FROM bid WHERE auction % 123 = 0;

-- Query 20, expand bids with their auctions. The benchmark joins without end; here a bid finds auctions of the
-- last 12 hours.
CREATE CONTINUOUS QUERY q20 AS
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime AS bid_time,
    a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS auction_time, a.expires, a.seller, a.category
FROM bid [RANGE 1 MINUTE] AS b JOIN auction [RANGE 12 HOURS] AS a ON b.auction = a.id
WHERE a.category = 10;

-- Query 13, bounded side input: each bid with a row of a stored table.
CREATE CONTINUOUS QUERY q13 AS
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bid AS b JOIN side_input AS s ON b.auction % 10000 = s.key;

-- Query 11, user sessions: how many bids did each bidder make while active?
CREATE CONTINUOUS QUERY q11 AS
SELECT bidder, count(*) AS bid_count, session_window.start AS starttime, session_window.end AS endtime
FROM bid GROUP BY bidder, session_window(dateTime, '10 seconds');

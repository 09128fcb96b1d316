-- Query 3, local item suggestion: who sells in three states? The benchmark joins without end; here a person
-- and an auction meet if they are at most 12 hours apart.
CREATE CONTINUOUS QUERY q3 AS
SELECT p.name, p.city, p.state, a.id
FROM auction [RANGE 12 HOURS] AS a JOIN person [RANGE 12 HOURS] AS p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');

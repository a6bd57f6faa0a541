BEGIN;
SELECT present_fence(:'resource', :'fence');
-- Any number of writes may follow: they are kept together with the mark, or not at all.
INSERT INTO totals (resource, value, fence) VALUES (:'resource', :'value', :'fence');
COMMIT;

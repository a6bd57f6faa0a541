-- Once per database.
CREATE TABLE fences (resource text PRIMARY KEY, highest bigint NOT NULL);

CREATE TABLE totals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    resource text NOT NULL,
    value text NOT NULL,
    fence bigint NOT NULL
);

-- Moves the mark and keeps its row until the transaction ends, so that writers of one resource come one by one; a fence
-- below the mark is an error, and ends the transaction.
CREATE FUNCTION present_fence(resource text, fence bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fences AS mark VALUES (resource, fence)
    ON CONFLICT ON CONSTRAINT fences_pkey DO UPDATE SET highest = EXCLUDED.highest
    WHERE mark.highest <= EXCLUDED.highest;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'stale fence % for %', fence, resource;
    END IF;
END
$$;

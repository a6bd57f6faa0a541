-- Once per file.
CREATE TABLE fences (resource TEXT PRIMARY KEY, highest INTEGER NOT NULL);

CREATE TABLE totals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    resource TEXT NOT NULL,
    value TEXT NOT NULL,
    fence INTEGER NOT NULL
);

CREATE TRIGGER refuse_stale_fence BEFORE UPDATE ON fences WHEN NEW.highest < OLD.highest
BEGIN
    SELECT RAISE(ABORT, 'stale fence');
END;

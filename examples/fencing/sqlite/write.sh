#!/bin/sh
# TOTALS=totals.db redlease run --key totals -- ./write.sh totals 42
#
# A stale fence ends it with 1.
set -eu

quoted() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"
}

# IMMEDIATE: the file is ours from the first statement on, so that no one moves the mark between it and the write.
sqlite3 -bail "$TOTALS" <<SQL
.timeout 10000
BEGIN IMMEDIATE;
INSERT INTO fences VALUES ($(quoted "$1"), $REDLEASE_FENCE)
    ON CONFLICT (resource) DO UPDATE SET highest = excluded.highest;
INSERT INTO totals (resource, value, fence) VALUES ($(quoted "$1"), $(quoted "$2"), $REDLEASE_FENCE);
COMMIT;
SQL

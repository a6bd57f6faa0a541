#!/bin/sh
# redlease run --key totals -- ./write.sh totals 42
#
# psql finds the server by PGHOST, PGDATABASE and the like. A stale fence ends it with 3.
set -eu
exec psql -X -q -o /dev/null -v ON_ERROR_STOP=1 \
    -v resource="$1" -v value="$2" -v fence="$REDLEASE_FENCE" -f "$(dirname "$0")/write.sql"

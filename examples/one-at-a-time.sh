#!/bin/sh
# A script that takes care of itself: started anywhere, it runs in one place at a time.
# The first line restarts it under a lease; the test is for this key, as another lease may enclose it.
[ "${REDLEASE_KEY-}" = one-at-a-time ] || exec redlease run --key one-at-a-time -- "$0" "$@"

set -eu
echo "fence $REDLEASE_FENCE: working on $*"

#!/bin/sh
# redlease run --key totals -- ./write.sh DIRECTORY 42
#
# The fence is the name, so that a late write lands below the one that readers take, whenever it comes. A stale fence
# that is seen in time ends it with 1. In a bucket it is the same: put KEY/FENCE, and read the highest.
set -eu
directory=$1
name=$(printf '%020d' "$REDLEASE_FENCE")

highest=$("$(dirname "$0")/newest.sh" "$directory")
if [ -n "$highest" ] && [ "$(printf '%s\n%s\n' "$highest" "$name" | sort | tail -n 1)" != "$name" ]; then
    echo "stale fence $REDLEASE_FENCE for $directory" >&2
    exit 1
fi

# Whole, or not at all: readers never see half a file.
new=$(mktemp "$directory/.new.XXXXXX")
trap 'rm -f "$new"' EXIT
printf '%s\n' "$2" >"$new"
mv -f "$new" "$directory/$name"

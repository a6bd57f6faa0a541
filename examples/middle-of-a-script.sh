#!/bin/sh
# Only the middle of a script needs the lease. A background keeper renews it for as long as this shell lives, and
# sends it TERM if the lease is lost.
set -eu

echo "preparing: anywhere, at any time"

# In two steps: `eval "$(...)"` alone would go on without a lease.
lease=$(redlease acquire --key switch --wait 1m --while-pid $$ --export)
eval "$lease"
trap 'redlease release' EXIT
trap 'exit 143' TERM

echo "switching with fence $REDLEASE_FENCE"
# Before the step that must not happen twice: is it still ours, and for long enough?
redlease check --min-left 5s
echo "switched"

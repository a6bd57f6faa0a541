#!/usr/bin/env bash
# Two runs of one job compete for a lease on a throw-away Redis, and then a holder falls asleep.
# Nothing outside a temporary folder is touched, except that a redis-server or a C compiler that is missing is
# installed, and announced.
#
# REDLEASE=/path/to/redlease uses that program instead of building one; STEP=SECONDS makes the jobs slower.

set -euo pipefail
cd "$(dirname "$0")/.."

bold= plain=
if [ -t 1 ]; then
    bold=$'\033[1m' plain=$'\033[0m'
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() { printf '$ %s\n' "$*"; }
# Until the lease of the demo is held.
held() {
    for _ in $(seq 400); do
        redlease status -q import && return
        sleep 0.05
    done
    echo "the lease was not taken" >&2
    exit 1
}

tests/setup demo

if [ -z "${REDLEASE:-}" ]; then
    say "Building redlease"
    cargo build --locked --quiet
    REDLEASE=$PWD/target/debug/redlease
fi

dir=$(mktemp -d /tmp/redlease-demo.XXXXXX)
mkdir "$dir/bin" "$dir/lake"
ln -s "$(readlink -f "$REDLEASE")" "$dir/bin/redlease"
PATH=$dir/bin:$PATH
unset REDIS_URL "${!REDLEASE_@}"
export REDLEASE_URL=redis+unix://$dir/redis.sock

redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --appendonly no --dir "$dir" --logfile "$dir/redis.log" &
server=$!
cleanup() {
    kill -CONT "${sleeper:-}" 2>/dev/null || true
    kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
for _ in $(seq 100); do
    [ -S "$dir/redis.sock" ] && break
    sleep 0.05
done
say "A private Redis listens on $dir/redis.sock"

# The job: what an import would do, with a line per step.
cat >"$dir/import.sh" <<'JOB'
#!/bin/sh
echo "  [$1] import begins, fence $REDLEASE_FENCE"
for step in 1 2 3 4; do
    sleep "${STEP:-0.5}"
    echo "  [$1] step $step of 4"
done
echo "  [$1] import is done"
JOB
chmod +x "$dir/import.sh"

say "1. Two hosts start the same job at the same moment"
show "redlease run --key import -- ./import.sh host-a    # and host-b beside it"
redlease run --key import --label host-a -- "$dir/import.sh" host-a &
first=$!
held
code=0
redlease run --key import --label host-b -- "$dir/import.sh" host-b || code=$?
echo "  host-b came second, and ended with $code"

say "2. Who holds it?"
show "redlease status"
redlease status
wait "$first"

say "3. A third one would rather wait"
redlease run --key import --label host-a -- "$dir/import.sh" host-a &
first=$!
held
show "redlease run --key import --wait 1m -- ./import.sh host-c"
redlease run --key import --label host-c --wait 1m -- "$dir/import.sh" host-c
wait "$first"

say "4. A holder falls asleep: redlease is stopped, the job is not"
cat >"$dir/ticks.sh" <<'JOB'
#!/bin/sh
while :; do
    echo "  [sleepy] still working"
    sleep 0.4
done
JOB
chmod +x "$dir/ticks.sh"
show "redlease run --key import --ttl 5s -- ./ticks.sh    # and then: kill -STOP redlease"
redlease run --key import --ttl 5s --label sleepy -- "$dir/ticks.sh" &
sleeper=$!
held
sleep 1
kill -STOP "$sleeper"
echo "  redlease sleeps; its guard does not, and ends the job before the lease runs out:"
redlease run --key import --wait 1m --label host-b -- "$dir/import.sh" host-b
kill -CONT "$sleeper"
code=0
wait "$sleeper" || code=$?
sleeper=
echo "  sleepy woke, and ended with $code: the lease was lost"

say "5. A whole host falls asleep: holder, guard and job"
show "examples/paused-holder.sh"
examples/paused-holder.sh

say "6. Afterwards"
show "redlease status"
redlease status

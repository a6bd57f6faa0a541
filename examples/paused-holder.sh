#!/usr/bin/env bash
# The timeline of a paused holder, as in "What it is for, and what it is not" of the README: every process of holder A
# is stopped for longer than its lease, B takes over, A wakes. Then a write that A had begun before it was paused
# reaches the resource, which compares the fence.
#
# REDLEASE_URL names the server; KEY (by default paused-holder) must be free there.

set -euo pipefail
key=${KEY:-paused-holder}
dir=$(mktemp -d /tmp/redlease-pause.XXXXXX)
a=
cleanup() {
    for pid in $a; do kill -CONT "$pid" 2>/dev/null || true; done
    kill ${a%% *} 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

begin=$(date +%s%N)
say() {
    local ms=$((($(date +%s%N) - begin) / 1000000))
    printf '%4d.%d s  %s\n' $((ms / 1000)) $((ms % 1000 / 100)) "$*"
}
# The process and all its descendants.
family() {
    local child
    echo "$1"
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do family "$child"; done
}

# The resource: it remembers the highest fence that it has seen, and refuses a write with a lower one.
echo 0 >"$dir/highest"
: >"$dir/rows"
write() {
    (
        flock 9
        if [ "$1" -lt "$(cat "$dir/highest")" ]; then
            say "resource: a write with fence $1 is REFUSED, $(cat "$dir/highest") has been here"
            exit 0
        fi
        echo "$1" >"$dir/highest"
        echo "$2" >>"$dir/rows"
        say "resource: a write of $2 with fence $1 is taken"
    ) 9>"$dir/lock"
}

cat >"$dir/job" <<'JOB'
#!/bin/sh
echo "$REDLEASE_FENCE" >"$1/fence-$2"
while :; do
    echo tick >>"$1/ticks-$2"
    sleep 0.1
done
JOB
chmod +x "$dir/job"

say "A starts:  redlease run --key $key --ttl 3s -- ./job A"
redlease run --key "$key" --ttl 3s --label A -- "$dir/job" "$dir" A &
a=$!
for _ in $(seq 200); do [ -s "$dir/ticks-A" ] && break; sleep 0.05; done
fence=$(cat "$dir/fence-A")
write "$fence" A
a=$(family "$a" | tr '\n' ' ')
# The sleep of the job's loop may be over by now.
for pid in $a; do kill -STOP "$pid" 2>/dev/null || true; done
ticks=$(wc -l <"$dir/ticks-A")
say "A is paused with all its processes, as by a machine that is suspended; it has worked $ticks times"

say "B waits:   redlease run --key $key --wait 1m -- ./job B"
redlease run --key "$key" --ttl 3s --label B --wait 1m --max-run 3s -- "$dir/job" "$dir" B &
b=$!
for _ in $(seq 600); do [ -s "$dir/ticks-B" ] && break; sleep 0.05; done
write "$(cat "$dir/fence-B")" B
say "B holds the lease now, because that of A has run out"

# In the order of the tree; what is killed meanwhile cannot be woken.
for pid in $a; do kill -CONT "$pid" 2>/dev/null || true; done
code=0
wait "${a%% *}" || code=$?
a=
more=$(($(wc -l <"$dir/ticks-A") - ticks))
say "A wakes: its guard looks at the clock first and kills the job; A ends with $code"
say "(between waking and the kill the job worked $more times: 0, unless the kernel let it run first)"

say "a write that A had begun before its pause arrives:"
write "$fence" A

code=0
wait "$b" || code=$?
say "B was not disturbed: it worked $(wc -l <"$dir/ticks-B") times, until its --max-run ended it with $code"
say "rows in the resource: $(tr '\n' ' ' <"$dir/rows")"

# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_redlease_global_optspecs
    string join \n h/help V/version
end

function __fish_redlease_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_redlease_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_redlease_using_subcommand
    set -l cmd (__fish_redlease_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c redlease -n "__fish_redlease_needs_command" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_needs_command" -s V -l version -d 'Print version'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "run" -d 'Run a command while holding a lease, in one place at a time'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "status" -d 'Show who holds a lease, how long, and who waits for it'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "acquire" -d 'Acquire a lease and print its token'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "renew" -d 'Give a lease its full TTL again'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "release" -d 'Give a lease back'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "check" -d 'Tell whether a lease is still held, and for long enough'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "break" -d 'Take a lease away from its holder, whose job is then stopped'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "fence" -d 'Compare fences, for resources that cannot do it themselves'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "doctor" -d 'Check what in this server, its configuration and this machine endangers a lease'
complete -c redlease -n "__fish_redlease_needs_command" -f -a "completions" -d 'Print a completion script for a shell'
complete -c redlease -n "__fish_redlease_using_subcommand run" -l key -d 'Name of the lease: 1 to 200 bytes without white space or braces' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l ttl -d 'How long the lease lives without a renewal; it is renewed every third of this [env: REDLEASE_TTL] [default: 30s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -s w -l wait -d 'Wait for the lease, first come, first served, for this long or `forever`' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -s E -l conflict-exit-code -d 'Exit with this code instead of 75 when the lease is not acquired' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l limit -d 'Let this many hold at once, 1 to 64; the job\'s place is in REDLEASE_SLOT' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l min-hold -d 'Keep others out for this long after the acquire, even when the job ends sooner' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l min-hold-on -d 'After which runs --min-hold applies [default: always]' -r -f -a "always\t'After every run that ended'
success\t'Only after a run whose job exited with 0'"
complete -c redlease -n "__fish_redlease_using_subcommand run" -l once-per -d 'At most one successful run per slot of the server\'s clock (UTC), such as 1h or 1d@3h' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l max-run -d 'Stop the job after this long, and exit with 124' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -s k -l kill-after -d 'From a stop (or a TERM that was passed on) to KILL [default: a sixth of the TTL, at most 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l signal -d 'Signal that stops the job [default: TERM]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l on-lost -d 'What happens to the job when the lease is lost [default: stop]' -r -f -a "stop\t'The signal of --signal, then KILL'
kill\t'KILL at once'
warn\t'Say so, and let it run on without a lease'"
complete -c redlease -n "__fish_redlease_using_subcommand run" -l if-unreachable -d 'What to do without an answer from Redis [default: fail]' -r -f -a "fail\t'Exit with 69'
run\t'Run the job without a lease, and say so'
skip\t'Exit with 0, and say so'"
complete -c redlease -n "__fish_redlease_using_subcommand run" -l splay -d 'Sleep for a random time up to this before asking, so that many hosts do not ask at once' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l replicas -d 'Start the job only after this many replicas have the acquire' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l replica-timeout -d 'How long to wait for the replicas, before the lease is given back [default: a sixth of the TTL, at most 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l label -d 'What others see as the holder\'s purpose [env: REDLEASE_LABEL] [default: the program\'s name]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l report -d 'Write one JSON object about the run to this file, or to /dev/stderr' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand run" -l leftovers -d 'What happens to background processes that the job leaves [default: stop]' -r -f -a "stop\t'Stopped, and named in one line'
wait\t'The lease is held until they end'
leave\t'They work on without a lease'"
complete -c redlease -n "__fish_redlease_using_subcommand run" -l retain -d 'How long the record of the last run is kept [env: REDLEASE_RETAIN] [default: 30d]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -s c -l command -d 'Run this text by /bin/sh -c, instead of CMD' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l log-format -d 'Form of redlease\'s own lines on stderr [env: REDLEASE_LOG_FORMAT] [default: text]' -r -f -a "text\t''
json\t''"
complete -c redlease -n "__fish_redlease_using_subcommand run" -l timeout -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand run" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand run" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand run" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand run" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand run" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand run" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand run" -s n -l nonblock -d 'Do not wait for the lease: exit with 75 when it is held (the default)'
complete -c redlease -n "__fish_redlease_using_subcommand run" -l skip-ok -d 'Exit with 0, and say nothing, when the lease is not acquired: -E 0, for cron'
complete -c redlease -n "__fish_redlease_using_subcommand run" -l reentrant -d 'Run under the lease of an enclosing `redlease run` with the same key'
complete -c redlease -n "__fish_redlease_using_subcommand run" -l raw-key -d 'Use KEY itself as the key in Redis, shared with clients that do SET KEY token NX PX'
complete -c redlease -n "__fish_redlease_using_subcommand run" -s q -l quiet -d 'Only errors on stderr: no refusals, no notes [env: REDLEASE_QUIET]'
complete -c redlease -n "__fish_redlease_using_subcommand run" -s v -l verbose -d 'Say what happens on stderr [env: REDLEASE_VERBOSE]'
complete -c redlease -n "__fish_redlease_using_subcommand run" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c redlease -n "__fish_redlease_using_subcommand status" -l watch -d 'Show again and again, every DUR (2s unless given), until Ctrl-C' -r
complete -c redlease -n "__fish_redlease_using_subcommand status" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand status" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand status" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand status" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand status" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand status" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand status" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand status" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand status" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand status" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand status" -l json -d 'One JSON object per lease'
complete -c redlease -n "__fish_redlease_using_subcommand status" -s q -l quiet -d 'Print nothing; exit with 0 held, 1 free, 69 cannot tell'
complete -c redlease -n "__fish_redlease_using_subcommand status" -l raw-key -d 'KEY is the key in Redis itself, as for `run --raw-key`'
complete -c redlease -n "__fish_redlease_using_subcommand status" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand status" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l key -d 'Name of the lease: 1 to 200 bytes without white space or braces' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l ttl -d 'How long the lease lives without a renewal [env: REDLEASE_TTL] [default: 30s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -s w -l wait -d 'Wait for the lease, first come, first served, for this long or `forever`' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l limit -d 'Let this many hold at once, 1 to 64' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l while-pid -d 'Renew in the background until this process ends, then release; on a loss, send it TERM' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l label -d 'What others see as the holder\'s purpose [env: REDLEASE_LABEL] [default: acquire]' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l retain -d 'How long the record of the last run is kept [env: REDLEASE_RETAIN] [default: 30d]' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l log-format -d 'Form of redlease\'s own lines on stderr [env: REDLEASE_LOG_FORMAT] [default: text]' -r -f -a "text\t''
json\t''"
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -s n -l nonblock -d 'Do not wait for the lease: exit with 75 when it is held (the default)'
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l json -d 'Print one JSON object instead of the token'
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l export -d 'Print `export` lines for eval: REDLEASE_KEY, REDLEASE_TOKEN and so on'
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l raw-key -d 'Use KEY itself as the key in Redis, shared with clients that do SET KEY token NX PX'
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -s q -l quiet -d 'Only errors on stderr: no refusals, no notes [env: REDLEASE_QUIET]'
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -s v -l verbose -d 'Say what happens on stderr [env: REDLEASE_VERBOSE]'
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand acquire" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l key -d 'Name of the lease [env: REDLEASE_KEY]' -r
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l token -d 'The holding\'s token, as `acquire` printed it [env: REDLEASE_TOKEN]' -r
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l slot -d 'Which holder of a lease with --limit [env: REDLEASE_SLOT] [default: 1]' -r
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l ttl -d 'The new TTL; never shortens what is left [env: REDLEASE_TTL_MS] [default: as before]' -r
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l log-format -d 'Form of redlease\'s own lines on stderr [env: REDLEASE_LOG_FORMAT] [default: text]' -r -f -a "text\t''
json\t''"
complete -c redlease -n "__fish_redlease_using_subcommand renew" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l raw-key -d 'KEY is the key in Redis itself, as for `acquire --raw-key` [env: REDLEASE_RAW_KEY]'
complete -c redlease -n "__fish_redlease_using_subcommand renew" -s q -l quiet -d 'Only errors on stderr: no refusals, no notes [env: REDLEASE_QUIET]'
complete -c redlease -n "__fish_redlease_using_subcommand renew" -s v -l verbose -d 'Say what happens on stderr [env: REDLEASE_VERBOSE]'
complete -c redlease -n "__fish_redlease_using_subcommand renew" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand renew" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand release" -l key -d 'Name of the lease [env: REDLEASE_KEY]' -r
complete -c redlease -n "__fish_redlease_using_subcommand release" -l token -d 'The holding\'s token, as `acquire` printed it [env: REDLEASE_TOKEN]' -r
complete -c redlease -n "__fish_redlease_using_subcommand release" -l slot -d 'Which holder of a lease with --limit [env: REDLEASE_SLOT] [default: 1]' -r
complete -c redlease -n "__fish_redlease_using_subcommand release" -l log-format -d 'Form of redlease\'s own lines on stderr [env: REDLEASE_LOG_FORMAT] [default: text]' -r -f -a "text\t''
json\t''"
complete -c redlease -n "__fish_redlease_using_subcommand release" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand release" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand release" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand release" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand release" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand release" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand release" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand release" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand release" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand release" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand release" -l raw-key -d 'KEY is the key in Redis itself, as for `acquire --raw-key` [env: REDLEASE_RAW_KEY]'
complete -c redlease -n "__fish_redlease_using_subcommand release" -s q -l quiet -d 'Only errors on stderr: no refusals, no notes [env: REDLEASE_QUIET]'
complete -c redlease -n "__fish_redlease_using_subcommand release" -s v -l verbose -d 'Say what happens on stderr [env: REDLEASE_VERBOSE]'
complete -c redlease -n "__fish_redlease_using_subcommand release" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand release" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand check" -l key -d 'Name of the lease [env: REDLEASE_KEY]' -r
complete -c redlease -n "__fish_redlease_using_subcommand check" -l token -d 'The holding\'s token, as `acquire` printed it [env: REDLEASE_TOKEN]' -r
complete -c redlease -n "__fish_redlease_using_subcommand check" -l slot -d 'Which holder of a lease with --limit [env: REDLEASE_SLOT] [default: 1]' -r
complete -c redlease -n "__fish_redlease_using_subcommand check" -l min-left -d 'Fail unless the lease lives at least this long without a renewal' -r
complete -c redlease -n "__fish_redlease_using_subcommand check" -l log-format -d 'Form of redlease\'s own lines on stderr [env: REDLEASE_LOG_FORMAT] [default: text]' -r -f -a "text\t''
json\t''"
complete -c redlease -n "__fish_redlease_using_subcommand check" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand check" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand check" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand check" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand check" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand check" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand check" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand check" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand check" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand check" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand check" -l raw-key -d 'KEY is the key in Redis itself, as for `acquire --raw-key` [env: REDLEASE_RAW_KEY]'
complete -c redlease -n "__fish_redlease_using_subcommand check" -s q -l quiet -d 'Only errors on stderr: no refusals, no notes [env: REDLEASE_QUIET]'
complete -c redlease -n "__fish_redlease_using_subcommand check" -s v -l verbose -d 'Say what happens on stderr [env: REDLEASE_VERBOSE]'
complete -c redlease -n "__fish_redlease_using_subcommand check" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand check" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand break" -l token -d 'Only this holding, as `status --json` or `acquire` names it' -r
complete -c redlease -n "__fish_redlease_using_subcommand break" -l slot -d 'Which holder of a lease with --limit [default: 1]' -r
complete -c redlease -n "__fish_redlease_using_subcommand break" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand break" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand break" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand break" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand break" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand break" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand break" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand break" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand break" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand break" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand break" -l now -d 'Free the lease at once: until the broken holder notices, two jobs may run'
complete -c redlease -n "__fish_redlease_using_subcommand break" -s y -l yes -d 'Do not ask'
complete -c redlease -n "__fish_redlease_using_subcommand break" -l raw-key -d 'KEY is the key in Redis itself, as for `run --raw-key`'
complete -c redlease -n "__fish_redlease_using_subcommand break" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand break" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand fence; and not __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand fence; and not __fish_seen_subcommand_from check" -f -a "check" -d 'Fail if a higher fence was seen for this resource, else remember this one'
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l resource -d 'What is written to: any name that all writers agree on' -r
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l fence -d 'The fence of the writer\'s lease [env: REDLEASE_FENCE]' -r
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand fence; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -s u -l url -d 'Server: redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, redis-sentinel://, redis-cluster:// [env: REDLEASE_URL, then REDIS_URL] [default: redis://127.0.0.1:6379]' -r
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l url-file -d 'Read the URL from this file [env: REDLEASE_URL_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l password-file -d 'Read the password from this file [env: REDLEASE_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l tls-ca -d 'Trust the certificates in this PEM file, and no others [env: REDLEASE_TLS_CA]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l tls-cert -d 'Show this certificate (PEM) to the server [env: REDLEASE_TLS_CERT]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l tls-key -d 'The key (PEM) of --tls-cert [env: REDLEASE_TLS_KEY]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l connect-timeout -d 'Limit for the first connection [env: REDLEASE_CONNECT_TIMEOUT] [default: 5s]' -r
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l prefix -d 'What redlease\'s keys in Redis begin with [env: REDLEASE_PREFIX] [default: redlease:]' -r
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l sentinel-user -d 'User at the sentinels [env: REDLEASE_SENTINEL_USER]' -r
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l sentinel-password-file -d 'Read the password for the sentinels from this file [env: REDLEASE_SENTINEL_PASSWORD_FILE]' -r -F
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l json -d 'One JSON object per check'
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -l tls-insecure -d 'Do not check the server\'s certificate; says so on stderr [env: REDLEASE_TLS_INSECURE]'
complete -c redlease -n "__fish_redlease_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c redlease -n "__fish_redlease_using_subcommand completions" -s h -l help -d 'Print help'

complete -c redlease -n '__fish_seen_subcommand_from run acquire renew release check' -l key -x -a '(redlease completions names 2>/dev/null)'
complete -c redlease -n '__fish_seen_subcommand_from status break' -f -a '(redlease completions names 2>/dev/null)'

//! What a URL means, on a real server.

use std::ffi::OsString;

use crate::harness::{Redis, Redlease, Value};

fn with_user(redis: &Redis) {
    let reply = redis.cli(&[
        "ACL",
        "SETUSER",
        "ci@job",
        "on",
        ">p@s:s/w#r%d=",
        "~redlease:*",
        "allchannels",
        "+@all",
    ]);
    assert_eq!(reply, Value::Text(b"OK".to_vec()));
    redis.cli(&["ACL", "SETUSER", "default", "off"]);
}

fn reaches(url: &str) {
    Redlease::run("k")
        .env("REDLEASE_URL", url)
        .job(["true"])
        .exits(0)
        .silent();
}

#[test]
fn an_encoded_password_is_the_password() {
    let redis = Redis::options().tcp().start();
    with_user(&redis);
    let url = format!(
        "redis://ci%40job:p%40s%3As%2Fw%23r%25d%3D@127.0.0.1:{}/0",
        redis.port()
    );
    reaches(&url);
}

#[test]
fn a_raw_password_is_refused_with_a_hint_and_not_shown() {
    let redis = Redis::options().tcp().start();
    let before = connections(&redis);
    let url = format!("redis://ci@job:p@s:s/w#r%d=@127.0.0.1:{}/0", redis.port());
    let outcome = Redlease::run("k")
        .arg("--url")
        .arg(url)
        .job(["true"])
        .exits(64);
    outcome.says(&["percent-encoded"]);
    for part in ["p@s", "s/w", "w#r", "r%d", "ci@job", "127.0.0.1"] {
        assert!(!outcome.stderr.contains(part), "{}", outcome.stderr);
    }
    // Only the second look of the test itself came in between.
    assert_eq!(connections(&redis), before + 1);
}

fn connections(redis: &Redis) -> i64 {
    let info = redis.cli(&["INFO", "stats"]).text();
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("total_connections_received:"));
    line.expect("a count of connections")
        .parse()
        .expect("a number")
}

#[test]
fn a_database_is_chosen_before_anything_is_asked() {
    let redis = Redis::options().tcp().start();
    let url = format!("redis://127.0.0.1:{}/3", redis.port());
    let run = Redlease::run("k")
        .env("REDLEASE_URL", url)
        .holds()
        .start()
        .up();
    let mut client = redis.client();
    assert_eq!(client.ask(&["EXISTS", "redlease:{k}"]).int(), 0);
    client.ask(&["SELECT", "3"]);
    assert_eq!(client.ask(&["EXISTS", "redlease:{k}"]).int(), 1);
    run.finish();
    assert_eq!(client.ask(&["EXISTS", "redlease:{k}"]).int(), 0);
}

#[test]
fn a_database_that_the_server_lacks_is_named_at_once() {
    let redis = Redis::options().tcp().start();
    let url = format!("redis://127.0.0.1:{}/99", redis.port());
    Redlease::run("k")
        .env("REDLEASE_URL", url)
        .job(["true"])
        .exits(78)
        .says(&["DB index is out of range"]);
}

#[test]
fn a_socket_takes_user_password_and_database_in_its_query() {
    let redis = Redis::start();
    with_user(&redis);
    let url = format!(
        "redis+unix://{}?db=2&user=ci%40job&pass=p%40s%3As%2Fw%23r%25d%3D",
        redis.socket().display()
    );
    reaches(&url);
}

#[test]
fn every_address_of_a_name_is_tried() {
    // The server listens on 127.0.0.1 alone; a localhost that is ::1 first is refused there.
    let redis = Redis::options().tcp().start();
    let url = format!("redis://localhost:{}", redis.port());
    Redlease::run("k")
        .env("REDIS_URL", url)
        .job(["true"])
        .exits(0)
        .silent();
}

#[test]
fn an_address_that_refuses_is_passed_over() {
    let redis = Redis::options().tcp().start();
    let hosts = redis.folder().join("hosts");
    // The order is the resolver's: with both, the one where nobody listens comes first at least once.
    for addresses in [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]] {
        let lines = addresses.map(|address| format!("{address} several.test\n"));
        std::fs::write(&hosts, lines.concat()).unwrap();
        let arrange = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
        let mut before: Vec<OsString> = vec!["unshare".into()];
        if !nix::unistd::geteuid().is_root() {
            before.extend(["--user".into(), "--map-root-user".into()]);
        }
        before.extend(["--mount", "sh", "-c", arrange].map(OsString::from));
        before.push(hosts.clone().into());
        Redlease::run("k")
            .env(
                "REDIS_URL",
                format!("redis://several.test:{}", redis.port()),
            )
            .under(before)
            .job(["true"])
            .exits(0)
            .silent();
    }
}

#[test]
fn a_user_needs_a_password_in_the_url_or_in_a_file() {
    let redis = Redis::options().tcp().start();
    with_user(&redis);
    let url = format!("redis://ci%40job@127.0.0.1:{}", redis.port());
    let run = || Redlease::run("k").env("REDLEASE_URL", &url).job(["true"]);
    run().exits(64).says(&["user without a password"]);
    let file = redis.folder().join("password");
    std::fs::write(&file, "p@s:s/w#r%d=\n").unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).unwrap();
    run().arg("--password-file").arg(&file).exits(0).silent();
}

#[test]
fn a_key_of_another_type_is_no_lease_and_is_left_alone() {
    let redis = Redis::start();
    redis.cli(&["LPUSH", "redlease:{k}", "x"]);
    Redlease::run("k")
        .on(&redis)
        .job(["true"])
        .exits(78)
        .says(&["redlease:{k}", "something else than a lease"]);
    assert_eq!(redis.cli(&["LLEN", "redlease:{k}"]).int(), 1);
}

//! TLS against a real server, with certificates made on the spot.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;

use crate::harness::{Authority, Outcome, PATIENCE, Redis, Redlease, ms, wait_until};

fn run(host: &str, port: u16) -> Redlease {
    Redlease::run("k")
        .env("REDLEASE_URL", format!("rediss://{host}:{port}"))
        .job(["true"])
}

fn trusting(run: Redlease, authority: &Authority) -> Redlease {
    run.arg("--tls-ca").arg(authority.certificate())
}

#[test]
fn a_name_and_an_address_are_checked_against_the_authority() {
    let authority = Authority::new();
    let (_redis, port) = authority.serve("localhost", false, false);
    trusting(run("localhost", port), &authority)
        .exits(0)
        .silent();
    let (_redis, port) = authority.serve("127.0.0.1", false, false);
    trusting(run("127.0.0.1", port), &authority)
        .exits(0)
        .silent();
}

#[test]
fn the_bundle_of_the_system_is_trusted_when_nothing_else_is_said() {
    let authority = Authority::new();
    let (_redis, port) = authority.serve("localhost", false, false);
    let system = authority.certificate();
    run("localhost", port)
        .env("SSL_CERT_FILE", system)
        .exits(0)
        .silent();
    run("localhost", port)
        .env("SSL_CERT_FILE", Path::new("/nonexistent.pem"))
        .exits(78)
        .says(&["/nonexistent.pem"]);
}

#[test]
fn another_authority_is_not_trusted() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (_redis, port) = authority.serve("localhost", false, false);
    trusting(run("localhost", port), &other).exits(78).says(&[
        "TLS",
        "issuer is unknown",
        "--tls-ca",
    ]);
}

#[test]
fn an_expired_certificate_is_not_trusted() {
    let authority = Authority::new();
    let (_redis, port) = authority.serve("localhost", true, false);
    trusting(run("localhost", port), &authority)
        .exits(78)
        .says(&["TLS", "expired"]);
}

#[test]
fn a_certificate_for_another_name_is_not_trusted() {
    let authority = Authority::new();
    let (_redis, port) = authority.serve("redis.example", false, false);
    trusting(run("localhost", port), &authority)
        .exits(78)
        .says(&["TLS", "another name"]);
}

/// A proxy in front of many servers chooses by the name, which the first words of a client carry in the clear.
#[test]
fn the_name_of_the_server_is_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let run = run("localhost", port)
        .args(["--tls-insecure", "--connect-timeout", "20s"])
        .start();
    let mut client = None;
    wait_until("a connection", PATIENCE, || {
        client = listener.accept().ok();
        client.is_some()
    });
    let (mut client, _) = client.unwrap();
    client.set_nonblocking(false).unwrap();
    client.set_read_timeout(Some(ms(20_000))).unwrap();
    let mut hello = Vec::new();
    let mut part = [0; 4096];
    let name = b"localhost";
    while !hello.windows(name.len()).any(|bytes| bytes == name) {
        let count = client.read(&mut part).unwrap_or(0);
        assert!(count > 0, "no name among {} bytes", hello.len());
        hello.extend_from_slice(&part[..count]);
    }
    drop(run);
}

#[test]
fn insecure_takes_any_certificate_and_warns() {
    let authority = Authority::new();
    let (_redis, port) = authority.serve("redis.example", true, false);
    run("localhost", port)
        .arg("--tls-insecure")
        .exits(0)
        .says(&["--tls-insecure"]);
}

/// A refused handshake can reach the client as an alert that says why, or as a reset that overtakes it.
fn wants_a_certificate(outcome: &Outcome) {
    assert!([69, 78].contains(&outcome.code), "{}", outcome.code);
    assert!(outcome.stderr.contains("--tls-cert"), "{}", outcome.stderr);
}

#[test]
fn a_server_may_want_a_certificate_of_the_client() {
    let authority = Authority::new();
    let (_redis, port) = authority.serve("localhost", false, true);
    wants_a_certificate(&trusting(run("localhost", port), &authority).output());
    let (certificate, key) = authority.sign("client", false);
    let with = |certificate: &Path, key: &Path| {
        trusting(run("localhost", port), &authority)
            .arg("--tls-cert")
            .arg(certificate)
            .arg("--tls-key")
            .arg(key)
    };
    with(&certificate, &key).exits(0).silent();
    let other = Authority::new();
    let (stranger, other_key) = other.sign("client", false);
    wants_a_certificate(&with(&stranger, &other_key).output());
    with(&certificate, &other_key)
        .exits(78)
        .says(&["do not go together"]);
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let authority = Authority::new();
    let junk = authority.folder().join("junk.pem");
    std::fs::write(&junk, "no certificate\n").unwrap();
    run("localhost", 1)
        .arg("--tls-ca")
        .arg(&junk)
        .exits(78)
        .says(&["junk.pem", "no certificate"]);
}

#[test]
fn tls_on_a_plain_port_ends_within_the_limit_and_says_so() {
    let redis = Redis::options().tcp().start();
    let outcome = run("127.0.0.1", redis.port())
        .args(["--tls-insecure", "--connect-timeout", "2s"])
        .exits(69);
    assert!(outcome.stderr.contains("TLS"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("redis://"), "{}", outcome.stderr);
    assert!(outcome.took < ms(12_000), "{:?}", outcome.took);
}

#[test]
fn a_plain_url_on_a_tls_port_ends_within_the_limit_and_says_so() {
    let authority = Authority::new();
    let (_redis, port) = authority.serve("localhost", false, false);
    let outcome = Redlease::run("k")
        .env("REDLEASE_URL", format!("redis://localhost:{port}"))
        .args(["--connect-timeout", "2s"])
        .job(["true"])
        .exits(69);
    assert!(outcome.stderr.contains("TLS"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("rediss://"), "{}", outcome.stderr);
    assert!(outcome.took < ms(12_000), "{:?}", outcome.took);
}

#[test]
fn a_lease_is_renewed_and_given_back_over_tls() {
    let authority = Authority::new();
    let (redis, port) = authority.serve("localhost", false, false);
    let run = trusting(
        Redlease::run("k")
            .ttl("6s")
            .env("REDLEASE_URL", format!("rediss://localhost:{port}/2"))
            .holds(),
        &authority,
    )
    .start()
    .up();
    let mut client = redis.client();
    client.ask(&["SELECT", "2"]);
    let mut lowest = i64::MAX;
    wait_until("a renewal", PATIENCE, || {
        let left = client.ask(&["PTTL", "redlease:{k}"]).int();
        lowest = lowest.min(left);
        left > lowest + 500
    });
    run.finish();
    assert_eq!(client.ask(&["EXISTS", "redlease:{k}"]).int(), 0);
}

#[test]
fn nothing_of_tls_is_read_for_a_plain_url() {
    let redis = Redis::start();
    // A bundle that cannot be read would fail a run that looks at it.
    Redlease::run("k")
        .on(&redis)
        .env("SSL_CERT_FILE", "/nonexistent.pem")
        .job(["true"])
        .exits(0)
        .silent();
}

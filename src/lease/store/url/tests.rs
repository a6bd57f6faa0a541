use super::super::target::{BadUrl, Secret, Shape, Target};
use std::path::PathBuf;

fn parsed(url: &str) -> Target {
    Target::parse(url).unwrap_or_else(|bad| panic!("{url}: {bad}"))
}

fn refused(url: &str) -> String {
    match Target::parse(url) {
        Ok(target) => panic!("{url} was taken as {}", target.describe()),
        Err(BadUrl(text)) => text,
    }
}

#[test]
fn what_is_said_is_what_is_meant() {
    for (url, described) in [
        ("redis://127.0.0.1", "redis://127.0.0.1:6379/0"),
        ("redis://h:7/", "redis://h:7/0"),
        ("REDIS://h:7/4", "redis://h:7/4"),
        ("rediss://h", "rediss://h:6379/0"),
        ("valkey://h", "redis://h:6379/0"),
        ("valkeys://h", "rediss://h:6379/0"),
        ("redis://[::1]:7000/2", "redis://[::1]:7000/2"),
        ("redis://:pw@h/15", "redis://h:6379/15"),
        ("unix:///run/r.sock", "unix:///run/r.sock"),
        ("redis+unix:///a%20b.sock?db=2", "unix:///a b.sock?db=2"),
        (
            "redis-sentinel://a,b:5,[::1]/main",
            "redis-sentinel://a:26379,b:5,[::1]:26379/main/0",
        ),
        (
            "rediss-sentinel://u:p@a/main/3",
            "rediss-sentinel://a:26379/main/3",
        ),
        ("redis-cluster://a,b:5", "redis-cluster://a:6379,b:5"),
        ("rediss-cluster://a/0", "rediss-cluster://a:6379"),
    ] {
        assert_eq!(parsed(url).describe(), described, "{url}");
    }
}

#[test]
fn users_and_passwords_are_decoded() {
    let password = |target: &Target| target.login.password.clone();
    let target = parsed("redis://ci%40job:p%40s%3As%2Fw%23r%25d%3D@h/1");
    assert_eq!(target.login.user.as_deref(), Some("ci@job"));
    assert_eq!(password(&target), Some(Secret::new("p@s:s/w#r%d=".into())));
    assert_eq!(target.db, 1);
    let target = parsed("redis://:a:b=%E2%82%AC@h");
    assert_eq!(target.login.user, None);
    assert_eq!(password(&target), Some(Secret::new("a:b=€".into())));
    let target = parsed("unix:///p?db=2&user=u%40v&pass=p%26q");
    assert_eq!(target.shape, Shape::Unix(PathBuf::from("/p")));
    assert_eq!(target.login.user.as_deref(), Some("u@v"));
    assert_eq!(password(&target), Some(Secret::new("p&q".into())));
}

#[test]
fn a_raw_password_is_told_how_to_be_written_and_never_shown() {
    for url in [
        "redis://ci@job:p@s:s/w#r%d=@127.0.0.1:6379/0",
        "redis://ci:hunter/2@h",
        "redis://ci:hunter#2@h",
        "redis://ci:hunter?2@h",
        "redis://ci:hun@ter@h",
        "redis://ci:hunter%2@h",
        "redis://ci:hunter%zz@h",
        "redis-cluster://ci:hunter/@h1,h2",
        "redis-sentinel://ci:hunter@s@h1,h2/name",
        "redis://ci:hunt[er@h",
    ] {
        let text = refused(url);
        assert!(text.contains("percent-encoded"), "{url}: {text}");
        for part in ["hun", "w#r", "p@s", "ci@job"] {
            assert!(!text.contains(part), "{text}");
        }
    }
}

#[test]
fn what_a_parser_takes_in_silence_is_refused() {
    for (url, hint) in [
        ("h:6379", "scheme"),
        ("", "scheme"),
        ("http://h", "scheme"),
        ("redis://", "host"),
        ("redis:///3", "host"),
        ("redis://user@h", "user without a password"),
        ("redis://:@h", "empty"),
        ("redis://@h", "empty user"),
        ("redis://user:@h", "empty"),
        ("redis://h?db=4", "path"),
        ("redis://h/0?ssl_cert_reqs=none", "`ssl_cert_reqs`"),
        ("redis://h/?protocol=resp3", "`protocol`"),
        ("redis://h/#insecure", "--tls-insecure"),
        ("rediss://h/#insecure", "--tls-insecure"),
        ("redis://h/0#x", "%23"),
        ("redis://h/#", "%23"),
        ("redis://h/-1", "database"),
        ("redis://h/+1", "database"),
        ("redis://h/%31", "database"),
        ("redis://h/99999999999", "database"),
        ("redis://h/0/1", "more than"),
        ("redis://h:0", "65535"),
        ("redis://h:", "65535"),
        ("redis://h:+1", "65535"),
        ("redis://h:65536", "65535"),
        ("redis://::1", "IPv6"),
        ("redis://[::1", "]"),
        ("redis://[h]:1", "IPv6"),
        ("redis://h1,h2", "several hosts"),
        ("redis://h 1", "space"),
        ("redis://h\n", "control"),
        ("redis://h*", "characters"),
        ("unix://rel.sock", "absolute"),
        ("unix:///", "absolute"),
        ("unix:///p?password=x", "`password`"),
        ("unix:///p?db=1&db=2", "twice"),
        ("unix:///p#1", "%23"),
        ("unix:///p%00", "zero"),
        ("redis-sentinel://h1,h2", "primary"),
        ("redis-sentinel://h1,,h2/n", "host"),
        ("redis-cluster://h1/3", "database 0"),
    ] {
        let text = refused(url);
        assert!(text.contains(hint), "{url}: {text}");
        assert!(!text.contains('\n'), "{url}: {text}");
    }
}

#[test]
fn a_password_from_elsewhere_belongs_to_the_user_of_the_url() {
    let secret = Secret::new("other".into());
    let target = Target::parse_with("redis://ci@h", Some(secret.clone())).unwrap();
    assert_eq!(target.login.user.as_deref(), Some("ci"));
    assert_eq!(target.login.password, Some(secret));
    assert!(!format!("{target:?}").contains("other"));
}

#[test]
fn a_place_does_not_depend_on_the_order_of_hosts() {
    let place = |url| parsed(url).place();
    assert_eq!(
        place("redis-cluster://b,A:5,a:5"),
        place("redis-cluster://a:5,B:6379")
    );
    assert_ne!(place("redis://h/0"), place("redis://h/1"));
    assert_ne!(place("redis-sentinel://h/a"), place("redis-sentinel://h/b"));
    assert_eq!(place("redis://u:p@H"), "h:6379/0");
}

//! Scripts without comments and indentation, at compile time: a source goes over the wire each time, and is hashed
//! by the server.

/// A script of these parts.
macro_rules! script {
    ($($part:expr),+) => {{
        const PARTS: &[&str] = &[$($part),+];
        const SOURCE: [u8; $crate::lease::protocol::lean::length(PARTS)] =
            $crate::lease::protocol::lean::source(PARTS);
        match std::str::from_utf8(&SOURCE) {
            Ok(source) => source,
            Err(_) => panic!("a script is not UTF-8"),
        }
    }};
}
pub(super) use script;

/// How long the lean script is.
pub const fn length(parts: &[&str]) -> usize {
    let mut length = 0;
    let mut part = 0;
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut line = 0;
        while line < bytes.len() {
            let (from, to) = kept(bytes, line);
            length += to - from;
            line = next(bytes, line);
        }
        part += 1;
    }
    length
}

/// The lean script; `N` is its `length`.
pub const fn source<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut source = [0; N];
    let mut at = 0;
    let mut part = 0;
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut line = 0;
        while line < bytes.len() {
            let (mut from, to) = kept(bytes, line);
            while from < to {
                source[at] = bytes[from];
                at += 1;
                from += 1;
            }
            line = next(bytes, line);
        }
        part += 1;
    }
    source
}

/// What is kept of the line that begins at `start`, its end included: nothing of a comment.
const fn kept(bytes: &[u8], start: usize) -> (usize, usize) {
    let end = next(bytes, start);
    let mut from = start;
    while from < end && bytes[from] == b' ' {
        from += 1;
    }
    let comment = from + 1 < end && bytes[from] == b'-' && bytes[from + 1] == b'-';
    let empty = from < end && bytes[from] == b'\n';
    if comment || empty {
        (end, end)
    } else {
        (from, end)
    }
}

/// Where the line after this one begins.
const fn next(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < bytes.len() && bytes[at] != b'\n' {
        at += 1;
    }
    if at < bytes.len() { at + 1 } else { at }
}

#[cfg(test)]
mod tests {
    #[test]
    fn comments_and_indentation_go() {
        let source = super::script!(
            "-- what it does\nlocal a = 1 -- kept\n\nif a then\n  -- why\n  return a\nend\n",
            "return '--'\n"
        );
        let lean = "local a = 1 -- kept\nif a then\nreturn a\nend\nreturn '--'\n";
        assert_eq!(source, lean);
    }
}

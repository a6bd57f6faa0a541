//! Switches one piece of the design off, in a build for the torture only (the feature `mutate`): what cannot be
//! missed is either not needed or not tested. The variable REDLEASE_MUTATE names the piece.

use std::sync::LazyLock;

static PIECE: LazyLock<String> =
    LazyLock::new(|| std::env::var("REDLEASE_MUTATE").unwrap_or_default());

pub fn without(piece: &str) -> bool {
    *PIECE == piece
}

/// Piece, what a script says, and what it says without it.
const SCRIPTS: &[(&str, &str, &str)] = &[
    ("ended mark", "was[3] ~= token and (", "("),
    (
        "expires_at rule",
        "until_us and now < until_us and",
        "until_us and",
    ),
    ("rank rule", "if wait <= 0 then", "if true then"),
    ("take-over", "for i = 15, #ARGV do", "for i = 1, 0 do"),
    (
        "fence growth",
        "grant(free[1], math.max(number(shared[1]) + 1, now)",
        "grant(free[1], math.max(number(shared[1]), 1)",
    ),
    ("own token", "if value == token then", "if value then"),
    ("wake", "if free < 1 then", "if true then"),
    ("dead waiters", "return deadline > now", "return true"),
    (
        "fence clock",
        "grant(free[1], math.max(number(shared[1]) + 1, now)",
        "grant(free[1], number(shared[1]) + 1",
    ),
];

/// The script without the piece that is switched off, if it is one of a script.
pub fn script(source: &str) -> String {
    let mut source = source.to_owned();
    for (piece, with, without) in SCRIPTS {
        if *PIECE == *piece {
            source = source.replace(with, without);
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::SCRIPTS;

    /// A piece that a change of the scripts has moved would be switched off nowhere, and be missed by nobody.
    #[test]
    fn each_piece_is_in_a_script() {
        let scripts = [
            include_str!("lease/acquire.lua"),
            include_str!("lease/queue.lua"),
            include_str!("lease/renew.lua"),
            include_str!("lease/release.lua"),
        ];
        for (piece, with, _) in SCRIPTS {
            assert!(scripts.iter().any(|s| s.contains(with)), "{piece}: {with}");
        }
    }
}

//! What is at the other end of standard output.

use std::io::IsTerminal;

/// Columns and rows of the terminal on standard output; None where there is no terminal, or it does not know.
pub fn size() -> Option<(usize, usize)> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&out).ok()?;
    (size.ws_col > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

//! Completion scripts, with live names of leases where a key is typed.

use clap::CommandFactory;
use clap_complete::aot;

use super::Cli;

/// Shells whose scripts are made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub fn script(shell: Shell) -> String {
    let mut command = Cli::command();
    let mut out = Vec::new();
    match shell {
        Shell::Bash => aot::generate(aot::Bash, &mut command, "redlease", &mut out),
        Shell::Zsh => aot::generate(aot::Zsh, &mut command, "redlease", &mut out),
        Shell::Fish => aot::generate(aot::Fish, &mut command, "redlease", &mut out),
    }
    let text = String::from_utf8_lossy(&out);
    match shell {
        Shell::Bash => format!("{text}{BASH}"),
        Shell::Zsh => zsh(&text),
        Shell::Fish => format!("{text}{FISH}"),
    }
}

/// Names come from a server that others write to. `compgen -W` would expand `$(…)` in them, so they are compared
/// and quoted one by one.
const BASH: &str = r#"
_redlease_live() {
    local line=${COMP_LINE:0:COMP_POINT} cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} word before done name
    # For bash a colon ends a word, for redlease it does not.
    word=${line##*[[:space:]]}
    before=${line%"$word"} before=${before%"${before##*[![:space:]]}"} before=${before##*[[:space:]]}
    [[ $COMP_WORDBREAKS == *:* ]] && done=${word%"${word##*:}"}
    if [[ $before == --key || ( $cur != -* && $before != -* && ( $verb == status || $verb == break ) && $COMP_CWORD -gt 1 ) ]]; then
        COMPREPLY=()
        while IFS= read -r name; do
            if [[ $name == "$word"* ]]; then
                printf -v name %q "${name:${#done}}"
                COMPREPLY+=("$name")
            fi
        done < <(redlease completions names 2>/dev/null)
    else
        _redlease "$@"
    fi
}
complete -F _redlease_live -o bashdefault -o default redlease
"#;

const FISH: &str = r"
complete -c redlease -n '__fish_seen_subcommand_from run acquire renew release check' -l key -x -a '(redlease completions names 2>/dev/null)'
complete -c redlease -n '__fish_seen_subcommand_from status break' -f -a '(redlease completions names 2>/dev/null)'
";

const ZSH: &str = r#"
(( $+functions[_redlease_names] )) ||
_redlease_names() {
    local -a names
    names=(${(f)"$(redlease completions names 2>/dev/null)"})
    compadd -a names
}
"#;

/// The value names of keys and patterns, each followed by what completes them.
fn zsh(text: &str) -> String {
    let named = text
        .lines()
        .map(|line| {
            let key = line.contains(":KEY:_default")
                || line.contains("::patterns")
                || line.contains(":key --");
            if key {
                line.replace(":_default", ":_redlease_names")
            } else {
                line.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join("\n");
    // The last statement calls `_redlease`, so that the helper must be there before it.
    match named.find("if [ \"$funcstack[1]\"") {
        Some(at) => format!("{}{}\n{}\n", &named[..at], ZSH.trim_start(), &named[at..]),
        None => format!("{named}\n{ZSH}"),
    }
}

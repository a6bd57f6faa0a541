//! `redlease doctor`: what in this server, its configuration and this machine endangers a lease, and what to do.

mod checks;
mod facts;
mod finding;
mod machine;
mod memory;
mod probe;
mod rights;

use crate::exit::Exit;
use crate::lease::keeper::exit_of;
use crate::lease::store::{Store, Trouble};
use crate::plan::view::DoctorPlan;
use crate::report::screen::Style;
use crate::report::{Level as Loudness, Log, clean, json, stdout};
use crate::time::Moment;
use facts::Facts;
use finding::{Finding, Level};

pub fn run(plan: &DoctorPlan) -> Exit {
    let log = Log::default();
    for warning in &plan.connection.warnings {
        log.say(Loudness::Warning, warning);
    }
    let mut findings = machine::look();
    let reached = examine(plan, &mut findings);
    let exit = match &reached {
        Err(trouble) => {
            findings.push(checks::unreachable(trouble));
            exit_of(trouble.kind)
        }
        Ok(()) if findings.iter().any(|one| one.level == Level::Fail) => Exit::Code(1),
        Ok(()) => Exit::Done,
    };
    let connection = &plan.connection;
    let rule = rights::rule(&connection.prefix, connection.target.is_cluster());
    let text = if plan.json {
        findings.push(Finding::ok("acl-rule", rule));
        findings.iter().map(json::line).collect()
    } else {
        table(&findings, &rule, Style::of_stdout())
    };
    if let Err(error) = stdout(&text) {
        log.say(
            Loudness::Error,
            &format!("cannot write the findings: {error}"),
        );
        return Exit::Failed;
    }
    exit
}

fn examine(plan: &DoctorPlan, findings: &mut Vec<Finding>) -> Result<(), Trouble> {
    let connection = &plan.connection;
    let mut store = Store::new(connection.target.clone());
    store.connect(Moment::now().after(connection.connect_timeout))?;
    let facts = Facts::ask(&mut store, connection)?;
    findings.extend(checks::all(&facts));
    findings.extend(probe::all(&mut store, connection));
    Ok(())
}

/// What is well takes a line; what is not also says what it means for a lease, and the remedy.
fn table(findings: &[Finding], rule: &str, style: Style) -> String {
    const INDENT: usize = 6;
    let mut lines = Vec::new();
    for one in findings {
        let word = style.paint(one.level.word(), one.level.colour());
        let pad = " ".repeat(INDENT - one.level.word().len());
        let head = format!("{}: {}", one.check, clean(&one.finding));
        let mut wrapped = style.wrapped(&head, INDENT).into_iter();
        let first = wrapped.next().unwrap_or_default();
        lines.push(format!("{word}{pad}{}", first.trim_start()));
        lines.extend(wrapped);
        if !one.meaning.is_empty() {
            lines.extend(style.wrapped(&clean(&one.meaning), INDENT));
        }
        if let Some(remedy) = &one.remedy {
            lines.extend(style.wrapped(&format!("remedy: {}", clean(remedy)), INDENT));
        }
    }
    let count = |level| findings.iter().filter(|one| one.level == level).count();
    lines.push(String::new());
    lines.push(format!(
        "{} ok, {} warn, {} fail",
        count(Level::Ok),
        count(Level::Warn),
        count(Level::Fail)
    ));
    lines.push("The least rights that suffice (Redis 6.2 or later):".to_owned());
    // Not wrapped: it is there to be copied.
    lines.push(format!("  {rule}"));
    lines.join("\n") + "\n"
}

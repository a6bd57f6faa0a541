//! What a check found.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    /// A lease works, and is weaker or slower than it could be.
    Warn,
    /// A lease does not work, or can be lost while it is held.
    Fail,
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail => "fail",
        }
    }

    pub fn colour(self) -> &'static str {
        match self {
            Level::Ok => "32",
            Level::Warn => "33",
            Level::Fail => "31",
        }
    }
}

/// The names are promised: see redlease-doctor(1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub finding: String,
    /// For a lease, in one line. Empty where all is well.
    pub meaning: String,
    pub remedy: Option<String>,
}

impl Finding {
    pub fn ok(check: &'static str, finding: impl Into<String>) -> Finding {
        Finding {
            check,
            level: Level::Ok,
            finding: finding.into(),
            meaning: String::new(),
            remedy: None,
        }
    }

    pub fn warn(
        check: &'static str,
        finding: impl Into<String>,
        meaning: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            check,
            level: Level::Warn,
            finding: finding.into(),
            meaning: meaning.into(),
            remedy: Some(remedy.into()),
        }
    }

    pub fn fail(
        check: &'static str,
        finding: impl Into<String>,
        meaning: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            level: Level::Fail,
            ..Finding::warn(check, finding, meaning, remedy)
        }
    }
}

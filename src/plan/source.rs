//! The environment, read once and by name: a variable that is wrong is named in the message.

use std::ffi::OsString;

use super::Refused;
use crate::cli::values;

type LookUp<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// Looks a variable up. A function, so that tests need not change the process's own environment.
pub struct Source<'a> {
    look_up: Box<LookUp<'a>>,
}

impl<'a> Source<'a> {
    pub fn process() -> Source<'static> {
        Source {
            look_up: Box::new(|name| std::env::var_os(name)),
        }
    }

    #[cfg(test)]
    pub fn of(variables: &'a [(&'a str, &'a str)]) -> Source<'a> {
        Source {
            look_up: Box::new(|name| {
                variables
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map(|(_, value)| OsString::from(value))
            }),
        }
    }

    /// An empty variable counts as unset: that is how shells and CI systems spell "none".
    pub fn raw(&self, name: &str) -> Option<OsString> {
        (self.look_up)(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable whose text is nobody's business: it is never repeated.
    pub fn secret(&self, name: &str) -> Result<Option<String>, Refused> {
        self.raw(name)
            .map(|value| {
                value
                    .into_string()
                    .map_err(|_| Refused::usage(format!("{name} is not valid UTF-8")))
            })
            .transpose()
    }

    pub fn read<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Refused> {
        let Some(text) = self.secret(name)? else {
            return Ok(None);
        };
        parse(&text).map(Some).map_err(|why| {
            let shown: String = text.chars().take(80).collect();
            Refused::usage(format!("{name}={shown:?} in the environment: {why}"))
        })
    }

    /// What was typed, else what the variable says.
    pub fn or<T>(
        &self,
        typed: Option<T>,
        name: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Refused> {
        match typed {
            Some(value) => Ok(Some(value)),
            None => self.read(name, parse),
        }
    }

    pub fn switch(&self, name: &str) -> Result<bool, Refused> {
        Ok(self.read(name, values::switch)?.unwrap_or(false))
    }
}

//! What can go wrong, sorted by whose fault it is.

use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// Every failure of the library. The text of each says what was given, what is allowed and what to
/// do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting, a key of a recipe or an argument is not allowed.
    #[error("{0}")]
    Param(Box<Invalid>),
    /// An input file is missing, damaged, or of a kind that is not read.
    #[error("{}: {what}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// Something is larger than the machine, the device or the format can hold.
    #[error("{0}")]
    Limit(Limit),
    /// The graphics device refused, failed or does not exist.
    #[error("{0}")]
    Device(Fault),
    /// An output could not be written.
    #[error("{}: {source}", path.display())]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The run was cancelled.
    #[error("interrupted")]
    Cancelled,
}

/// A value that is not allowed, as data: enough for a form to show the error beside its field.
///
/// Displayed, it is [`message`](Self::message), with the [`file`](Self::file) before it where there
/// is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Invalid {
    /// The whole error as a sentence.
    pub message: String,
    /// The recipe file that has the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Where in the recipe the value stands, as a JSON pointer (RFC 6901): `/stage/1/rain`. Of a
    /// value outside a recipe, `/` and the name of the argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The name of the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The value that was given, as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// What is allowed, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
}

impl Invalid {
    /// The error of a setting that has a value which is not allowed.
    pub fn value(
        field: impl Into<String>,
        given: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        let (field, given, allowed) = (field.into(), given.to_string(), allowed.into());
        Self {
            message: format!("{field} = {given}: allowed {allowed}"),
            ..Self::of(field, given, allowed)
        }
    }

    /// The data of [`Invalid::value`], for an error that has words of its own.
    pub fn of(
        field: impl Into<String>,
        given: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        let field = field.into();
        let pointer = Some(format!("/{}", escaped(&field)));
        Self {
            pointer,
            field: Some(field),
            given: Some(given.to_string()),
            allowed: Some(allowed.into()),
            ..Self::default()
        }
    }

    /// The same error, said in other words.
    pub fn saying(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// The same error, about a setting with a name.
    pub fn about(self, field: impl Into<String>) -> Self {
        let field = field.into();
        Self { pointer: Some(format!("/{}", escaped(&field))), field: Some(field), ..self }
    }

    /// The same error, one level up: `place` goes before the message and `pointer` before the
    /// pointer.
    pub fn inside(self, place: &str, pointer: &str) -> Self {
        let message =
            if place.is_empty() { self.message } else { format!("{place}: {}", self.message) };
        let pointer = Some(format!("{pointer}{}", self.pointer.unwrap_or_default()));
        Self { message, pointer, ..self }
    }
}

/// A name as a part of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}: {}", file.display(), self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl From<String> for Invalid {
    fn from(message: String) -> Self {
        Self { message, ..Self::default() }
    }
}

impl From<&str> for Invalid {
    fn from(message: &str) -> Self {
        message.to_string().into()
    }
}

/// More than can be held, as data. Displayed, it is [`message`](Self::message).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// The whole error as a sentence.
    pub message: String,
    /// How much is needed or was given, where that is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
    /// How much is allowed or there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<u64>,
    /// Of what: `bytes`, `cells a side`, `passes` …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What is wrong with a graphics device, as data. Displayed, it is the [`adapter`](Self::adapter),
/// where it is about one, and the [`message`](Self::message).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// What is wrong, and what to do.
    pub message: String,
    /// The name of the adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
}

impl Fault {
    /// What is wrong with an adapter.
    pub fn of(adapter: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), adapter: Some(adapter.into()) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.adapter {
            Some(adapter) => write!(f, "{adapter}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl From<Limit> for Error {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Device(fault)
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Param(Box::new(invalid))
    }
}

impl Error {
    /// Whether the CPU may do the same work without it: the device failed, or has too little room.
    pub fn is_of_device(&self) -> bool {
        matches!(self, Self::Device(_) | Self::Limit(_))
    }

    /// An [`Error::Param`] in words alone, or with the data of an [`Invalid`].
    pub fn param(what: impl Into<Invalid>) -> Self {
        what.into().into()
    }

    /// An [`Error::Limit`] in words alone.
    pub fn limit(what: impl Into<String>) -> Self {
        Limit { message: what.into(), ..Limit::default() }.into()
    }

    /// An [`Error::Limit`] in words, and with its numbers: more of a unit is needed than allowed.
    pub fn over(
        what: impl Into<String>,
        needed: impl Into<u64>,
        allowed: impl Into<u64>,
        unit: &'static str,
    ) -> Self {
        Limit {
            message: what.into(),
            needed: Some(needed.into()),
            allowed: Some(allowed.into()),
            unit: Some(unit),
        }
        .into()
    }

    /// An [`Error::Device`] that is about no adapter; otherwise, it is made from a [`Fault`].
    pub fn device(what: impl Into<String>) -> Self {
        Fault { message: what.into(), adapter: None }.into()
    }

    /// An [`Error::Input`] about `path`.
    pub fn input(path: impl AsRef<Path>, what: impl ToString) -> Self {
        Self::Input { path: path.as_ref().into(), what: what.to_string() }
    }

    /// An [`Error::Output`] about `path`.
    pub fn output(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Output { path: path.as_ref().into(), source }
    }

    /// A word for machines: `param`, `input`, `limit`, `device`, `output` or `cancelled`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Param(_) => "param",
            Self::Input { .. } => "input",
            Self::Limit(_) => "limit",
            Self::Device(_) => "device",
            Self::Output { .. } => "output",
            Self::Cancelled => "cancelled",
        }
    }

    /// The data of an [`Error::Param`], an [`Error::Limit`] or an [`Error::Device`] as JSON, for
    /// programs. It has a `message`.
    pub fn data(&self) -> Option<serde_json::Value> {
        let data = match self {
            Self::Param(invalid) => serde_json::to_value(invalid),
            Self::Limit(limit) => serde_json::to_value(limit),
            Self::Device(fault) => serde_json::to_value(fault),
            _ => return None,
        };
        data.ok()
    }

    /// The data of an [`Error::Param`].
    pub fn invalid(&self) -> Option<&Invalid> {
        match self {
            Self::Param(invalid) => Some(invalid),
            _ => None,
        }
    }

    /// The same error, with more words and a place before an [`Error::Param`]; see
    /// [`Invalid::inside`].
    pub fn inside(self, place: &str, pointer: &str) -> Self {
        match self {
            Self::Param(invalid) => invalid.inside(place, pointer).into(),
            other => other,
        }
    }
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

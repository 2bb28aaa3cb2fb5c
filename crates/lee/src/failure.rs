//! How a command ends when it cannot do what it was asked for.

use std::fmt;

/// One clear line for standard error and the status to exit with.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong and what to do; empty if it was reported already.
    pub message: String,
    /// Exit status: 2 for wrong usage, 1 for errors.
    pub status: i32,
}

impl Failure {
    /// The command line makes no sense.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), status: 2 }
    }

    /// The work could not be done.
    pub fn error(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), status: 1 }
    }

    /// The reason was printed already.
    pub fn reported() -> Failure {
        Failure::error("")
    }

    /// A file operation failed.
    pub fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Failure {
        Failure::error(format!("cannot {what} '{}': {}", path.display(), reason(error)))
    }
}

/// What the system says, without the number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text.get(..at).unwrap_or(&text).to_string(),
        None => text,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The result of a step of the command.
pub type Outcome<T> = Result<T, Failure>;

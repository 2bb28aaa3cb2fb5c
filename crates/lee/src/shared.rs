//! Names the variables that all processes of a program share and that Leeward's code uses by their
//! names: those of objects and libraries that Leeward did not compile
//! (docs/reference/c-in-processes.md). What functions do with theirs is for [`crate::first_only`].

use crate::session::Session;

/// How many variables are named.
const NAMED: usize = 8;

/// A variable, and where it is.
pub type Shared = (String, String);

/// A warning, if there are such variables; else empty.
pub fn warning(session: &Session, shared: &[Shared]) -> String {
    let options = &session.options;
    if options.no_warnings || options.warnings.iter().any(|word| word == "no-shared-variables") {
        return String::new();
    }
    let Some(((first, place), others)) = shared.split_first() else { return String::new() };
    let mut text = format!("lee: warning: all processes share `{first}` ({place})");
    for (name, place) in others.iter().take(NAMED - 1) {
        text.push_str(&format!(", `{name}` ({place})"));
    }
    if others.len() >= NAMED {
        text.push_str(&format!(" and {} other variables", others.len() + 1 - NAMED));
    }
    text.push_str(
        ", because Leeward did not compile them\nlee: help: use them in one process only, or put their C files on \
         Leeward's command line: each process then has its own. If every process may use them, say \
         `-Wno-shared-variables`\n",
    );
    text
}

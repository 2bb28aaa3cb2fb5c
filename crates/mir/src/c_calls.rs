//! The system's functions that the runtime only tells of to other workers (`runtime/src/io_path.c`),
//! or notes the descriptor of.

/// In C. In the runtime `lee_` stands in front.
const TOLD: &[&str] = &[
    "access",
    "chmod",
    "chown",
    "eaccess",
    "euidaccess",
    "lchown",
    "link",
    "lstat",
    "mkdir",
    "mkfifo",
    "mknod",
    "mkostemp",
    "mkstemp",
    "mkstemps",
    "readlink",
    "remove",
    "rename",
    "rmdir",
    "stat",
    "symlink",
    "sync",
    "system",
    "truncate",
    "unlink",
    "utime",
];

/// The name in C of one of these; of anything else the name itself.
pub fn name_in_c(name: &str) -> &str {
    name.strip_prefix("lee_").filter(|bare| TOLD.contains(bare)).unwrap_or(name)
}

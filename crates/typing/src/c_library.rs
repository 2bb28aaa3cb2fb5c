//! Names that belong to the C library, the C compiler and the runtime.
//!
//! A program that defined `strlen` or `environ` under its own name would put its function in the
//! place of the one that the runtime calls: the linker takes the program's first. So what safe code
//! defines never has such a symbol (`emit_c` gives it another one), and a definition that promises
//! its name to C is refused.

use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// What glibc's shared objects (libc, libm, libresolv, the dynamic linker and the stubs of older
/// ones) export, and what the linker defines, one name a line; names that begin with `__` are not
/// listed. A test compares it with the system's libraries.
const NAMES: &str = include_str!("c_library.txt");

/// Whether a symbol of this name may be called or owned by libc, the C compiler's support code or
/// the runtime.
pub fn is_system_symbol(name: &str) -> bool {
    let reserved =
        name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_uppercase()));
    reserved || name.starts_with("lee_") || is_listed(name)
}

/// Whether libc exports it, and it does not begin with `__`.
pub fn is_listed(name: &str) -> bool {
    static SET: LazyLock<FxHashSet<&str>> = LazyLock::new(|| NAMES.lines().collect());
    SET.contains(name)
}

/// The symbol of a function or variable of the program whose name is one of those: it cannot be
/// written in C.
pub fn own_symbol(name: &str) -> String {
    format!("{name}{OWN}")
}

/// The name that a symbol has in the source.
pub fn source_name(symbol: &str) -> &str {
    symbol.strip_suffix(OWN).unwrap_or(symbol)
}

/// What follows the name. Reports cut names off at the first dot.
const OWN: &str = ".lee";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_system_are_known() {
        for name in
            ["strlen", "malloc", "read", "memcpy", "environ", "optind", "vsnprintf", "_exit", "stdout", "lee_start"]
        {
            assert!(is_system_symbol(name), "{name}");
        }
        for name in ["__libc_start_main", "_IO_x", "_Unwind_Resume", "_Foo"] {
            assert!(is_system_symbol(name), "{name}");
        }
        for name in ["length", "_low", "leeward", "print", "main", "f"] {
            assert!(!is_system_symbol(name), "{name}");
        }
        assert_eq!(source_name(&own_symbol("getline")), "getline");
    }

    /// The list is not shorter than what the system's libc exports. Skipped where binutils are not
    /// there.
    #[test]
    fn the_list_has_what_the_system_exports() {
        let run = |program: &str, args: &[&str]| {
            let out = std::process::Command::new(program).args(args).output().ok()?;
            out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_string())
        };
        for library in ["libc.so.6", "libm.so.6"] {
            let Some(path) = run("cc", &[&format!("-print-file-name={library}")]) else { return };
            let Some(symbols) = run("nm", &["-D", "--defined-only", &path]) else { return };
            // A symbol of an older version only, `name@VERSION` with one `@`, is not found by a
            // linker.
            let named = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
            let names = named.filter_map(|name| match name.split_once('@') {
                Some((name, version)) => version.starts_with('@').then_some(name),
                None => Some(name),
            });
            let missing: Vec<&str> =
                names.filter(|n| !n.is_empty() && !n.starts_with("GLIBC_") && !is_system_symbol(n)).collect();
            assert!(missing.is_empty(), "{library} exports what c_library.txt does not name: {missing:?}");
        }
    }
}

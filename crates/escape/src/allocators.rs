//! Which functions allocate and release, and how: built-in tables, `--allocators FILE`, and
//! wrappers that were inferred.
//!
//! A name is that of a function (`malloc`), of a global function pointer (`Curl_cmalloc`), or of a
//! member of a global struct of hooks (`hooks.allocate`), or of a struct behind a pointer, by its tag
//! (`global_State->frealloc`).

use rustc_hash::FxHashMap;

/// What a function does with heap objects. Argument numbers count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Gives an object of as many bytes as the argument says.
    Allocate {
        /// Argument that is the size.
        size: u32,
    },
    /// Gives a zeroed object of the product of two arguments.
    Zeroed {
        /// Argument that is the count.
        count: u32,
        /// Argument that is the size of an element; the same as `count` if there is only one.
        size: u32,
    },
    /// Gives a copy of the string argument.
    Duplicate {
        /// The string.
        text: u32,
    },
    /// Changes the size of an object.
    Resize {
        /// The object.
        object: u32,
    },
    /// Releases an object; null is allowed.
    Release {
        /// The object.
        object: u32,
    },
    /// All of it, as Lua's hook: allocates if the object is null, releases if the size is 0, and
    /// resizes otherwise. `Context::entry` says which, so no other code meets it.
    Hook {
        /// The object.
        object: u32,
        /// The new size.
        size: u32,
    },
}

/// An entry of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What it does.
    pub role: Role,
    /// Whether it never returns null.
    pub never_fails: bool,
    /// Whether the program may put another function in its place at run time (hooks).
    pub replaceable: bool,
    /// Whether it gives null for 0 bytes, or as the copy of null.
    pub zero_is_null: bool,
}

/// The table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: FxHashMap<String, Entry>,
}

/// The built-in tables, as a file of `--allocators`: libc, glib, curl, redis, busybox, Lua.
const BUILT_IN: &str = "\
malloc allocate 0
__builtin_malloc allocate 0
calloc zeroed 0 1
__builtin_calloc zeroed 0 1
realloc resize 0
reallocarray resize 0
strdup duplicate 0
__strdup duplicate 0
__builtin_strdup duplicate 0
free release 0
cfree release 0
__builtin_free release 0
g_malloc allocate 0 never-fails null-for-0
g_try_malloc allocate 0 null-for-0
g_malloc0 zeroed 0 0 never-fails null-for-0
g_strdup duplicate 0 never-fails null-for-0
g_realloc resize 0 never-fails
g_free release 0
Curl_cmalloc allocate 0 replaceable
Curl_ccalloc zeroed 0 1 replaceable
Curl_crealloc resize 0 replaceable
Curl_cstrdup duplicate 0 replaceable
Curl_cfree release 0 replaceable
curl_domalloc allocate 0 replaceable
curl_docalloc zeroed 0 1 replaceable
curl_dorealloc resize 0 replaceable
curl_dostrdup duplicate 0 replaceable
curl_dofree release 0 replaceable
zmalloc allocate 0 never-fails
ztrymalloc allocate 0
zcalloc zeroed 0 0 never-fails
ztrycalloc zeroed 0 0
zrealloc resize 0 never-fails
zstrdup duplicate 0 never-fails
zfree release 0
xmalloc allocate 0 never-fails
xzalloc zeroed 0 0 never-fails
xrealloc resize 0 never-fails
xstrdup duplicate 0 never-fails
global_State->frealloc hook 1 3 replaceable
luaM_malloc_ allocate 1 null-for-0
luaM_realloc_ hook 1 3
luaM_saferealloc_ resize 1 never-fails
luaM_free_ release 1
";

impl Role {
    /// From words such as `allocate 0`.
    fn parse(words: &[&str]) -> Option<Role> {
        let number = |n: usize| words.get(n).and_then(|w| w.parse::<u32>().ok());
        Some(match (*words.first()?, words.len()) {
            ("allocate", 2) => Role::Allocate { size: number(1)? },
            ("zeroed", 3) => Role::Zeroed { count: number(1)?, size: number(2)? },
            ("zeroed", 2) => Role::Zeroed { count: number(1)?, size: number(1)? },
            ("duplicate", 2) => Role::Duplicate { text: number(1)? },
            ("resize", 2) => Role::Resize { object: number(1)? },
            ("release", 2) => Role::Release { object: number(1)? },
            ("hook", 3) => Role::Hook { object: number(1)?, size: number(2)? },
            _ => return None,
        })
    }
}

impl Table {
    /// The built-in tables.
    pub fn built_in() -> Table {
        let mut table = Table::default();
        // A line that is wrong is found by a test.
        let _ = table.read(BUILT_IN);
        table
    }

    /// Adds the lines of a file: `NAME ROLE ARGUMENT... [never-fails] [replaceable] [null-for-0]`; `#`
    /// begins a comment.
    ///
    /// Errors: a message with the number of the line.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            let mut words: Vec<&str> = line.split_whitespace().collect();
            let mut flag = |word: &str| {
                let found = words.iter().position(|w| *w == word);
                found.map(|at| words.remove(at)).is_some()
            };
            let never_fails = flag("never-fails");
            let replaceable = flag("replaceable");
            let zero_is_null = flag("null-for-0");
            let Some((name, role)) = words.split_first() else { continue };
            let role = Role::parse(role).ok_or_else(|| {
                format!(
                    "line {}: a line says NAME and one of `allocate SIZE`, `zeroed COUNT SIZE`, `duplicate TEXT`, \
                     `resize OBJECT`, `release OBJECT`, `hook OBJECT SIZE` with numbers of arguments from 0, then `never-fails`, \
                     `replaceable` or `null-for-0` if that is so",
                    n + 1
                )
            })?;
            let zero_is_null = zero_is_null || matches!(role, Role::Hook { .. });
            self.entries.insert((*name).to_string(), Entry { role, never_fails, replaceable, zero_is_null });
        }
        Ok(())
    }

    /// The entry of a name.
    pub fn get(&self, name: &str) -> Option<Entry> {
        self.entries.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_line_is_read() {
        let mut table = Table::default();
        assert_eq!(table.read(BUILT_IN), Ok(()));
        assert_eq!(table.entries.len(), BUILT_IN.lines().count());
    }

    #[test]
    fn a_file_adds_and_a_bad_line_is_named() {
        let mut table = Table::built_in();
        let text = "# ours\npool_get allocate 1 never-fails\npool_put release 1\n";
        assert_eq!(table.read(text), Ok(()));
        let entry = table.get("pool_get").map(|e| (e.role, e.never_fails));
        assert_eq!(entry, Some((Role::Allocate { size: 1 }, true)));
        assert!(table.read("\nx release").is_err_and(|e| e.starts_with("line 2")));
    }
}

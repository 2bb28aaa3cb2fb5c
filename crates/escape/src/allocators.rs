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
    /// Whether it gives null for 0 bytes.
    pub zero_is_null: bool,
}

/// The table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: FxHashMap<String, Entry>,
}

/// Name, role, arguments, never fails, replaceable.
type Row = (&'static str, &'static str, bool, bool);

/// The built-in tables: libc, glib, curl, redis, busybox, Lua-like hooks.
const BUILT_IN: &[Row] = &[
    ("malloc", "allocate 0", false, false),
    ("__builtin_malloc", "allocate 0", false, false),
    ("calloc", "zeroed 0 1", false, false),
    ("__builtin_calloc", "zeroed 0 1", false, false),
    ("realloc", "resize 0", false, false),
    ("reallocarray", "resize 0", false, false),
    ("strdup", "duplicate 0", false, false),
    ("__strdup", "duplicate 0", false, false),
    ("__builtin_strdup", "duplicate 0", false, false),
    ("free", "release 0", false, false),
    ("cfree", "release 0", false, false),
    ("__builtin_free", "release 0", false, false),
    ("g_malloc", "allocate 0", true, false),
    ("g_try_malloc", "allocate 0", false, false),
    ("g_malloc0", "zeroed 0 0", true, false),
    ("g_strdup", "duplicate 0", true, false),
    ("g_realloc", "resize 0", true, false),
    ("g_free", "release 0", false, false),
    ("Curl_cmalloc", "allocate 0", false, true),
    ("Curl_ccalloc", "zeroed 0 1", false, true),
    ("Curl_crealloc", "resize 0", false, true),
    ("Curl_cstrdup", "duplicate 0", false, true),
    ("Curl_cfree", "release 0", false, true),
    ("curl_domalloc", "allocate 0", false, true),
    ("curl_docalloc", "zeroed 0 1", false, true),
    ("curl_dorealloc", "resize 0", false, true),
    ("curl_dostrdup", "duplicate 0", false, true),
    ("curl_dofree", "release 0", false, true),
    ("zmalloc", "allocate 0", true, false),
    ("ztrymalloc", "allocate 0", false, false),
    ("zcalloc", "zeroed 0 0", true, false),
    ("ztrycalloc", "zeroed 0 0", false, false),
    ("zrealloc", "resize 0", true, false),
    ("zstrdup", "duplicate 0", true, false),
    ("zfree", "release 0", false, false),
    ("xmalloc", "allocate 0", true, false),
    ("xzalloc", "zeroed 0 0", true, false),
    ("xrealloc", "resize 0", true, false),
    ("xstrdup", "duplicate 0", true, false),
    ("global_State->frealloc", "hook 1 3", false, true),
    ("luaM_malloc_", "allocate 1", true, false),
    ("luaM_realloc_", "hook 1 3", false, false),
    ("luaM_saferealloc_", "resize 1", true, false),
    ("luaM_free_", "release 1", false, false),
];

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

impl Entry {
    fn new(role: Role, never_fails: bool, replaceable: bool) -> Entry {
        Entry { role, never_fails, replaceable, zero_is_null: matches!(role, Role::Hook { .. }) }
    }
}

impl Table {
    /// The built-in tables.
    pub fn built_in() -> Table {
        let mut table = Table::default();
        for &(name, role, never_fails, replaceable) in BUILT_IN {
            let words: Vec<&str> = role.split(' ').collect();
            if let Some(role) = Role::parse(&words) {
                table.entries.insert(name.to_string(), Entry::new(role, never_fails, replaceable));
            }
        }
        table
    }

    /// Adds the lines of a file: `NAME ROLE ARGUMENT... [never-fails] [replaceable]`; `#` begins a
    /// comment.
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
            let Some((name, role)) = words.split_first() else { continue };
            let role = Role::parse(role).ok_or_else(|| {
                format!(
                    "line {}: a line says NAME and one of `allocate SIZE`, `zeroed COUNT SIZE`, `duplicate TEXT`, \
                     `resize OBJECT`, `release OBJECT`, `hook OBJECT SIZE` with numbers of arguments from 0, then `never-fails` or \
                     `replaceable` if that is so",
                    n + 1
                )
            })?;
            self.entries.insert((*name).to_string(), Entry::new(role, never_fails, replaceable));
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
    fn every_built_in_row_is_read() {
        assert_eq!(Table::built_in().entries.len(), BUILT_IN.len());
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

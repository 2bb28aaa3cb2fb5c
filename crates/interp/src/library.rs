//! The library by meaning: C's standard says what its functions do, the runtime's headers what
//! those of Leeward do.

use crate::code::*;
use crate::machine::*;
use crate::memory::*;
use source::Span;

/// State of the library.
#[derive(Debug, Default)]
pub struct Library {
    /// What `atexit` was told.
    pub at_exit: Vec<u64>,
    /// Where `errno` lies.
    pub errno: ObjId,
    /// State of `rand`.
    pub seed: Option<u32>,
    /// What `getopt` has come to.
    pub options: crate::options::State,
    /// Directories that are open.
    pub directories: Vec<Option<crate::system::Directory>>,
}

impl Library {
    /// Makes what is always there.
    pub fn start(&mut self, mem: &mut Memory) {
        self.errno = mem.make(Kind::Global, 4, 4, Span::NONE);
        self.options = crate::options::State::new(mem);
    }
}

/// The arguments of a call.
pub struct Args<'a>(pub &'a [(Val, Repr)]);

impl Args<'_> {
    /// An address.
    pub fn ptr(&self, n: usize) -> u64 {
        self.0.get(n).map_or(0, |(v, _)| v.addr())
    }
    /// An integer.
    pub fn int(&self, n: usize) -> i128 {
        self.0.get(n).map_or(0, |(v, _)| v.int())
    }
    /// A size.
    pub fn size(&self, n: usize) -> u64 {
        self.int(n) as u64
    }
    /// A floating value.
    pub fn float(&self, n: usize) -> f64 {
        self.0.get(n).map_or(0.0, |(v, _)| v.float())
    }
    /// The words of a pointer.
    pub fn words(&self, n: usize) -> [u64; 3] {
        self.0.get(n).map_or([0; 3], |(v, _)| v.words())
    }
    /// A value.
    pub fn val(&self, n: usize) -> Val {
        self.0.get(n).map_or(Val::Int(0), |(v, _)| v.clone())
    }
    /// What follows the first `n`.
    pub fn rest(&self, n: usize) -> Vec<(Val, Repr)> {
        self.0.iter().skip(n).cloned().collect()
    }
}

/// An integer result.
pub fn int(n: impl Into<i128>) -> R<Option<Val>> {
    Ok(Some(Val::Int(n.into())))
}

/// A pointer result.
pub fn ptr(address: u64) -> R<Option<Val>> {
    Ok(Some(Val::ptr(address)))
}

impl Machine<'_> {
    /// A function of the library by its C name, or the runtime's.
    pub fn native(&mut self, name: &str, args: &[(Val, Repr)]) -> R<Val> {
        let args = Args(args);
        let name = mir::c_calls::name_in_c(name);
        if let Some(value) = self.stdio(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = self.strings(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = self.system(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = self.descriptor_call(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = self.option_call(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = self.weak(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = self.process_call(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = self.exchange_call(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = self.custodian_call(name, &args)? {
            return Ok(value);
        }
        if let Some(value) = crate::math::call(name, &args) {
            return Ok(value);
        }
        if let Some(value) = self.math_with_memory(name, &args)? {
            return Ok(value);
        }
        unsupported(format!("`{name}`"))
    }

    /// Sets `errno`.
    pub fn set_errno(&mut self, number: i32) {
        let id = self.lib.errno;
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.write(0, &number.to_le_bytes());
        }
    }

    /// `errno`
    pub fn errno(&self) -> i32 {
        let Some(obj) = self.mem.obj(self.lib.errno) else { return 0 };
        let mut bytes = [0; 4];
        bytes.copy_from_slice(obj.bytes(0, 4));
        i32::from_le_bytes(bytes)
    }

    /// A byte.
    pub fn byte(&self, address: u64) -> R<u8> {
        let loc = self.mem.place(address);
        let value = self.read(loc, crate::checks::unit_repr(1), 1, None)?;
        Ok(value.int() as u8)
    }

    /// Bytes that hold values.
    pub fn bytes(&self, address: u64, n: u64) -> R<Vec<u8>> {
        if n == 0 {
            return Ok(vec![]);
        }
        let loc = self.mem.place(address);
        match self.mem.readable(loc, n) {
            Ok(obj) => {
                let marks = obj.marks(loc.off, n);
                if marks.contains(&UNINIT) {
                    return report(crate::ReportKind::Uninitialised, "the library reads memory that holds no value");
                }
                Ok(obj.bytes(loc.off, n).to_vec())
            }
            Err(bad) => self.refuse(bad, loc, n, "the library's read"),
        }
    }

    /// Bytes as they are, with their marks.
    pub fn raw(&self, address: u64, n: u64) -> R<(Vec<u8>, Vec<u8>)> {
        if n == 0 {
            return Ok((vec![], vec![]));
        }
        let loc = self.mem.place(address);
        match self.mem.readable(loc, n) {
            Ok(obj) => Ok((obj.bytes(loc.off, n).to_vec(), obj.marks(loc.off, n).to_vec())),
            Err(bad) => self.refuse(bad, loc, n, "the library's read"),
        }
    }

    /// Writes bytes.
    pub fn put_bytes(&mut self, address: u64, bytes: &[u8]) -> R<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let loc = self.mem.place(address);
        let n = bytes.len() as u64;
        match self.mem.writable(loc, n) {
            Ok(obj) => {
                obj.write(loc.off, bytes);
                Ok(())
            }
            Err(bad) => self.refuse(bad, loc, n, "the library's write"),
        }
    }

    /// A string up to its zero; null is a fault.
    pub fn string(&self, address: u64) -> R<Vec<u8>> {
        if address == 0 {
            return fault("null pointer");
        }
        let loc = self.mem.place(address);
        let obj = match self.mem.readable(loc, 1) {
            Ok(obj) => obj,
            Err(bad) => return self.refuse(bad, loc, 1, "the library's read"),
        };
        let rest = obj.data.get(loc.off as usize..).unwrap_or(&[]);
        match rest.iter().position(|&b| b == 0) {
            Some(n) => self.bytes(address, n as u64 + 1).map(|mut b| {
                b.pop();
                b
            }),
            None => report(crate::ReportKind::OutOfBounds, "the library reads a string that no zero ends"),
        }
    }

    /// A string of at most `n` characters.
    pub fn string_within(&self, address: u64, n: u64) -> R<Vec<u8>> {
        let mut out = vec![];
        while (out.len() as u64) < n {
            match self.byte(address.wrapping_add(out.len() as u64))? {
                0 => break,
                b => out.push(b),
            }
        }
        Ok(out)
    }

    /// A string as text.
    pub fn text(&self, address: u64) -> R<String> {
        Ok(String::from_utf8_lossy(&self.string(address)?).into_owned())
    }

    /// A new object of the heap.
    pub fn new_block(&mut self, size: u64) -> u64 {
        let id = self.mem.make(Kind::Heap, size, 16, self.span);
        self.mem.address(Loc { obj: id, off: 0 })
    }

    /// A new string object: its words. `room`: the view has room for the zero, too.
    pub fn new_string(&mut self, text: &[u8], room: bool) -> R<Val> {
        let view = text.len() as u64 + u64::from(room);
        let address = self.new_block(view + 1);
        self.put_bytes(address, text)?;
        let loc = self.mem.place(address);
        if let Some(obj) = self.mem.obj_mut(loc.obj) {
            obj.elem = self.program.types.common.char_.0 + 1;
        }
        Ok(Val::Words([address, address, address + view]))
    }
}

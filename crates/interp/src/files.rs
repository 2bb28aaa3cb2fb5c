//! Streams of C's standard library, on real files.

use crate::machine::*;
use crate::memory::*;
use crate::Options;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::{Child, ChildStdin, ChildStdout};

/// What a stream reads from or writes to.
#[derive(Debug)]
enum Source {
    /// The process's own.
    Standard(u8),
    /// Bytes that were given for standard input.
    Given,
    /// Kept for the caller: 1 and 2 as descriptors count.
    Kept(u8),
    /// A file.
    File(File),
    /// A command that is read.
    From(Child, ChildStdout),
    /// A command that is written.
    To(Child, ChildStdin),
    /// A number that the program opened (descriptors.rs), and which opening of it.
    Number(i32, u32),
    /// The program closed its number.
    Gone,
}

/// A stream.
#[derive(Debug)]
pub struct Stream {
    source: Source,
    ahead: Vec<u8>,
    at: usize,
    written: Vec<u8>,
    /// The end was met.
    pub eof: bool,
    /// Something failed.
    pub error: bool,
    /// It is closed.
    pub closed: bool,
    readable: bool,
    writable: bool,
    unbuffered: bool,
    line: bool,
    /// The address of what stands for it.
    pub address: u64,
    /// The custodian that it was opened in.
    custodian: usize,
}

/// All streams.
#[derive(Debug, Default)]
pub struct Io {
    streams: Vec<Stream>,
    /// What was written to standard output, if it is kept.
    pub out: Vec<u8>,
    /// What was written to standard error, if it is kept.
    pub err: Vec<u8>,
    /// The custodian that the running task opens files in.
    pub custodian: usize,
    /// The error of the last call, if its stream lost its number.
    pub failed: Option<i32>,
    /// Whether output is kept for the caller.
    keeps: bool,
    /// What is open by number.
    pub numbers: crate::descriptors::Descriptors,
}

fn stream(source: Source, readable: bool, writable: bool) -> Stream {
    Stream {
        source,
        ahead: vec![],
        at: 0,
        written: vec![],
        eof: false,
        error: false,
        closed: false,
        readable,
        writable,
        unbuffered: false,
        line: false,
        address: 0,
        custodian: 0,
    }
}

impl Stream {
    /// Whether more was written than a stream keeps.
    pub fn holds_much(&self) -> bool {
        self.written.len() > 4096 && matches!(self.source, Source::Number(..))
    }
}

impl Io {
    /// The three standard streams.
    pub fn new(options: &Options) -> Io {
        let mut input = stream(Source::Standard(0), true, false);
        if let Some(bytes) = &options.input {
            input.source = Source::Given;
            input.ahead = bytes.clone();
        }
        let kept = |n: u8| if options.keep_output { Source::Kept(n) } else { Source::Standard(n) };
        let mut err = stream(kept(2), false, true);
        err.unbuffered = true;
        Io { streams: vec![input, stream(kept(1), false, true), err], keeps: options.keep_output, ..Io::default() }
    }

    /// The standard output of the process that ran: each has its own, and the next one begins with a new one.
    pub fn take_output(&mut self) -> Option<Stream> {
        let source = if self.keeps { Source::Kept(1) } else { Source::Standard(1) };
        self.streams.get_mut(1).map(|s| std::mem::replace(s, stream(source, false, true)))
    }

    /// Goes on with a standard output.
    pub fn print_on(&mut self, output: Stream) {
        if let Some(s) = self.streams.get_mut(1) {
            *s = output;
        }
    }

    /// Flushes what is written.
    pub fn flush_all(&mut self) {
        for n in 0..self.streams.len() {
            self.flush(n);
        }
    }

    /// Flushes a stream; whether that worked.
    pub fn flush(&mut self, n: usize) -> bool {
        let Some(s) = self.streams.get_mut(n) else { return false };
        if s.written.is_empty() {
            return true;
        }
        let bytes = std::mem::take(&mut s.written);
        let done = match &mut s.source {
            Source::Standard(2) => std::io::stderr().write_all(&bytes).is_ok(),
            Source::Standard(_) => {
                let mut out = std::io::stdout();
                out.write_all(&bytes).and_then(|()| out.flush()).is_ok()
            }
            Source::Kept(2) => {
                self.err.extend_from_slice(&bytes);
                true
            }
            Source::Kept(_) => {
                self.out.extend_from_slice(&bytes);
                true
            }
            Source::File(f) => f.write_all(&bytes).is_ok(),
            Source::To(_, pipe) => pipe.write_all(&bytes).is_ok(),
            Source::Number(fd, life) if self.numbers.lives(*fd, *life) => {
                let put = crate::descriptors::write_some(*fd, &bytes);
                // What does not fit waits for its reader.
                s.written = bytes.get(put.unwrap_or(bytes.len())..).unwrap_or(&[]).to_vec();
                put.is_some()
            }
            Source::Number(..) | Source::Gone => false,
            Source::Given | Source::From(..) => false,
        };
        s.error |= !done;
        self.note_lost(n);
        done
    }

    /// Notes the error of a call on a stream whose number the program closed.
    fn note_lost(&mut self, n: usize) {
        let lost = match self.streams.get(n).map(|s| &s.source) {
            Some(Source::Number(fd, life)) => !self.numbers.lives(*fd, *life),
            Some(Source::Gone) => true,
            _ => false,
        };
        if lost {
            self.failed = Some(libc::EBADF);
        }
    }

    /// A stream of the number.
    pub fn get(&mut self, n: usize) -> Option<&mut Stream> {
        self.streams.get_mut(n)
    }

    /// Writes bytes; whether that worked.
    pub fn write(&mut self, n: usize, bytes: &[u8]) -> bool {
        let Some(s) = self.streams.get_mut(n) else { return false };
        if !s.writable {
            s.error = true;
            return false;
        }
        // What was read ahead is given back.
        if s.at < s.ahead.len() {
            if let Source::File(f) = &mut s.source {
                let back = (s.ahead.len() - s.at) as i64;
                let _ = f.seek(SeekFrom::Current(-back));
            }
            s.ahead.clear();
            s.at = 0;
        }
        s.written.extend_from_slice(bytes);
        if s.unbuffered || s.written.len() > 1 << 16 || s.line && bytes.contains(&b'\n') {
            return self.flush(n);
        }
        true
    }

    /// The next byte.
    pub fn next(&mut self, n: usize) -> Option<u8> {
        let s = self.streams.get_mut(n)?;
        if s.at >= s.ahead.len() {
            if !s.readable {
                s.error = true;
                return None;
            }
            if s.eof {
                return None;
            }
            if !s.written.is_empty() {
                self.flush(n);
            }
            // Who is asked must have seen the question.
            if n == 0 {
                self.flush(1);
            }
            let s = self.streams.get_mut(n)?;
            let mut room = vec![0; 8192];
            let got = match &mut s.source {
                Source::Standard(0) => std::io::stdin().read(&mut room),
                Source::File(f) => f.read(&mut room),
                Source::From(_, pipe) => pipe.read(&mut room),
                Source::Number(fd, life) if self.numbers.lives(*fd, *life) => {
                    crate::descriptors::read_some(*fd, &mut room)
                }
                Source::Number(..) | Source::Gone => Err(std::io::Error::from_raw_os_error(libc::EBADF)),
                _ => Ok(0),
            };
            match got {
                Ok(got) if got > 0 => {
                    room.truncate(got);
                    s.ahead = room;
                    s.at = 0;
                }
                Ok(_) => {
                    s.eof = true;
                    return None;
                }
                Err(_) => {
                    s.error = true;
                    self.note_lost(n);
                    return None;
                }
            }
        }
        let s = self.streams.get_mut(n)?;
        let byte = s.ahead.get(s.at).copied();
        s.at += 1;
        byte
    }

    /// Gives a byte back.
    pub fn back(&mut self, n: usize, byte: u8) {
        let Some(s) = self.streams.get_mut(n) else { return };
        s.eof = false;
        if s.at > 0 {
            s.at -= 1;
            if let Some(slot) = s.ahead.get_mut(s.at) {
                *slot = byte;
            }
        } else {
            s.ahead.insert(0, byte);
        }
    }

    /// Opens a file: its number, or the error's.
    pub fn open(&mut self, path: &str, mode: &str) -> Result<usize, i32> {
        let plus = mode.contains('+');
        let mut how = std::fs::OpenOptions::new();
        let (readable, writable) = match mode.as_bytes().first() {
            Some(b'r') => {
                how.read(true).write(plus);
                (true, plus)
            }
            Some(b'w') => {
                how.write(true).read(plus).create(true).truncate(true);
                (plus, true)
            }
            Some(b'a') => {
                how.append(true).read(plus).create(true);
                (plus, true)
            }
            _ => return Err(libc::EINVAL),
        };
        if mode.contains('x') {
            how.create_new(true);
        }
        match how.open(path) {
            Ok(file) => Ok(self.add(stream(Source::File(file), readable, writable))),
            Err(error) => Err(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    /// A stream for a number that the program opened.
    pub fn of_number(&mut self, fd: i32, mode: &str) -> Result<usize, i32> {
        let plus = mode.contains('+');
        let reads = mode.starts_with('r');
        match self.numbers.life(fd) {
            Some(life) => Ok(self.add(stream(Source::Number(fd, life), reads || plus, !reads || plus))),
            None => Err(libc::EBADF),
        }
    }

    /// The number that a stream waits for before it can go on: to be read, as nothing is there; to
    /// be written, as much of what was written is still there.
    pub fn waits_for(&self, n: usize, writes: bool) -> Option<i32> {
        let s = self.streams.get(n)?;
        let Source::Number(fd, life) = s.source else { return None };
        let waits = match writes {
            true => !s.written.is_empty(),
            false => s.at >= s.ahead.len() && !s.eof,
        };
        let open = self.numbers.lives(fd, life);
        (waits && open && crate::descriptors::ready(&[(fd, writes)], 0).is_empty()).then_some(fd)
    }

    /// Whether an open stream has this number of the system's.
    pub fn has_number(&self, fd: i32) -> bool {
        (0..self.streams.len()).any(|n| self.number(n) == fd && self.streams.get(n).is_some_and(|s| !s.closed))
    }

    /// Closes a number that is a stream's; whether it is one. The stream stays, and can do nothing any more.
    pub fn close_number_of_stream(&mut self, fd: i32) -> bool {
        let found = (3..self.streams.len()).find(|&n| {
            self.number(n) == fd && self.streams.get(n).is_some_and(|s| matches!(s.source, Source::File(_)))
        });
        let Some(s) = found.and_then(|n| self.streams.get_mut(n)) else { return false };
        s.source = Source::Gone;
        true
    }

    /// A temporary file without a name.
    pub fn temporary(&mut self) -> Result<usize, i32> {
        let path = std::env::temp_dir().join(format!("lee-interp-{}-{}", std::process::id(), self.streams.len()));
        let how = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let _ = std::fs::remove_file(&path);
        match how {
            Ok(file) => Ok(self.add(stream(Source::File(file), true, true))),
            Err(error) => Err(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    /// Runs a command.
    pub fn command(&mut self, text: &str, mode: &str) -> Result<usize, i32> {
        use std::process::{Command, Stdio};
        self.flush_all();
        let mut command = Command::new("sh");
        command.arg("-c").arg(text);
        let reads = mode.starts_with('r');
        if reads {
            command.stdout(Stdio::piped());
        } else {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))?;
        let made = match (child.stdout.take(), child.stdin.take()) {
            (Some(pipe), _) if reads => stream(Source::From(child, pipe), true, false),
            (_, Some(pipe)) => stream(Source::To(child, pipe), false, true),
            _ => return Err(libc::EIO),
        };
        Ok(self.add(made))
    }

    /// Whether a command of `popen` runs.
    pub fn has_commands(&self) -> bool {
        self.streams.iter().any(|s| matches!(s.source, Source::From(..) | Source::To(..)))
    }

    /// How many files and numbers are open of these custodians.
    pub fn open_in(&self, custodians: &[usize]) -> usize {
        let inside = |s: &&Stream| !s.closed && custodians.contains(&s.custodian);
        self.streams.iter().skip(3).filter(inside).count() + self.numbers.count_in(custodians)
    }

    /// Closes what was opened in these custodians.
    pub fn close_in(&mut self, custodians: &[usize]) {
        for n in 3..self.streams.len() {
            if self.streams.get(n).is_some_and(|s| !s.closed && custodians.contains(&s.custodian)) {
                self.close(n);
            }
        }
    }

    fn add(&mut self, made: Stream) -> usize {
        let made = Stream { custodian: self.custodian, ..made };
        self.streams.push(made);
        self.streams.len() - 1
    }

    /// Closes a stream: the status, and the exit status of a command.
    pub fn close(&mut self, n: usize) -> i32 {
        let flushed = self.flush(n);
        self.note_lost(n);
        let Some(s) = self.streams.get_mut(n) else { return -1 };
        let failed = s.error && !flushed;
        s.closed = true;
        let source = std::mem::replace(&mut s.source, Source::Given);
        match source {
            Source::From(mut child, pipe) => {
                drop(pipe);
                child.wait().ok().map_or(-1, |s| status(&s))
            }
            Source::To(mut child, pipe) => {
                drop(pipe);
                child.wait().ok().map_or(-1, |s| status(&s))
            }
            Source::Gone => -1,
            Source::Number(fd, life) => {
                let closed = if self.numbers.lives(fd, life) { self.numbers.close(fd) } else { -1 };
                if failed {
                    -1
                } else {
                    closed
                }
            }
            _ if failed => -1,
            _ => 0,
        }
    }

    /// Another file in place of a stream's.
    pub fn reopen(&mut self, n: usize, path: &str, mode: &str) -> Result<(), i32> {
        self.flush(n);
        let fresh = self.open(path, mode)?;
        let made = self.streams.remove(fresh);
        if let Some(s) = self.streams.get_mut(n) {
            let address = s.address;
            *s = made;
            s.address = address;
        }
        Ok(())
    }

    /// The position.
    pub fn tell(&mut self, n: usize) -> i64 {
        self.note_lost(n);
        let Some(s) = self.streams.get_mut(n) else { return -1 };
        match &mut s.source {
            Source::File(f) => match f.stream_position() {
                Ok(at) => at as i64 - (s.ahead.len() - s.at.min(s.ahead.len())) as i64 + s.written.len() as i64,
                Err(_) => -1,
            },
            _ => -1,
        }
    }

    /// Moves to a position; whether that worked.
    pub fn seek(&mut self, n: usize, offset: i64, whence: i32) -> bool {
        self.flush(n);
        let here = self.tell(n);
        let Some(s) = self.streams.get_mut(n) else { return false };
        let Source::File(f) = &mut s.source else { return false };
        let to = match whence {
            0 if offset >= 0 => SeekFrom::Start(offset as u64),
            1 if here + offset >= 0 => SeekFrom::Start((here + offset) as u64),
            2 => SeekFrom::End(offset),
            _ => return false,
        };
        let done = f.seek(to).is_ok();
        if done {
            s.ahead.clear();
            s.at = 0;
            s.eof = false;
        }
        done
    }

    /// How it is buffered: 0 fully, 1 by line, 2 not.
    pub fn buffering(&mut self, n: usize, mode: i32) {
        if let Some(s) = self.streams.get_mut(n) {
            s.unbuffered = mode == 2;
            s.line = mode == 1;
        }
        if mode == 2 {
            self.flush(n);
        }
    }

    /// The number of the system.
    pub fn number(&self, n: usize) -> i32 {
        use std::os::fd::AsRawFd;
        match self.streams.get(n).map(|s| &s.source) {
            Some(Source::File(f)) => f.as_raw_fd(),
            Some(Source::Standard(k) | Source::Kept(k)) => i32::from(*k),
            Some(Source::Given) => 0,
            Some(Source::From(_, p)) => p.as_raw_fd(),
            Some(Source::To(_, p)) => p.as_raw_fd(),
            Some(Source::Number(fd, life)) if self.numbers.lives(*fd, *life) => *fd,
            Some(Source::Number(..) | Source::Gone) | None => -1,
        }
    }
}

fn status(status: &std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.into_raw()
}

impl Machine<'_> {
    /// The address of what stands for a stream.
    pub fn stream_address(&mut self, n: usize) -> u64 {
        if let Some(s) = self.io.get(n).filter(|s| s.address != 0) {
            return s.address;
        }
        let id = self.mem.make(Kind::Opaque, 0, 16, self.span);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.count = n as u32;
        }
        let address = self.mem.address(Loc { obj: id, off: 0 });
        if let Some(s) = self.io.get(n) {
            s.address = address;
        }
        address
    }

    /// The open stream behind a pointer.
    pub fn stream_of(&mut self, address: u64) -> R<usize> {
        if address == 0 {
            return fault("null pointer");
        }
        let loc = self.mem.place(address);
        let n = match self.mem.obj(loc.obj) {
            Some(obj) if obj.kind == Kind::Opaque && loc.obj != 0 => obj.count as usize,
            _ => return report(crate::ReportKind::Wild, "a stream is used that is none"),
        };
        match self.io.get(n) {
            Some(s) if s.closed => fault("use of a closed file"),
            Some(_) => Ok(n),
            None => report(crate::ReportKind::Wild, "a stream is used that is none"),
        }
    }
}

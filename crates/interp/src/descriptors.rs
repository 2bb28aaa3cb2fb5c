//! Descriptors of the system, which are real, and what waits for them. A number is of the process
//! and the custodian that opened it; any other number is closed, as far as the program can see. A
//! call that would wait lets other tasks run; when none can, the oracle waits in `poll`.

use crate::code::*;
use crate::library::{int, ptr, Args};
use crate::machine::*;
use crate::memory::*;
use crate::tasks::Key;
use libc::c_int;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// A number that the program opened.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// The process that it is of, unless an object holds it.
    process: u32,
    custodian: usize,
    /// The `descriptor` that closes it, or 0.
    object: ObjId,
    /// Which opening of the number this is.
    life: u32,
}

/// What the program opened by number.
#[derive(Debug, Default)]
pub struct Descriptors {
    open: FxHashMap<c_int, Open>,
    lives: u32,
    /// How often signals came that are caught.
    caught: FxHashMap<c_int, u32>,
    /// Signals that are ignored.
    ignored: Vec<c_int>,
    /// Signals that came while nothing of the first process waited, and that it did not ask for.
    untold: Vec<c_int>,
}

/// Functions that take a number first, and that C's library does without waiting.
const PLAIN: &[&str] = &["fdatasync", "fsync", "ftruncate", "isatty", "listen", "lseek", "shutdown"];

/// What concerns the whole program: only its first process may do it, the others get `EPERM`.
const WHOLE: &[&str] = &[
    "chdir",
    "execv",
    "execvp",
    "kill",
    "killpg",
    "nice",
    "raise",
    "setitimer",
    "setpriority",
    "setrlimit",
    "setsid",
    "setuid",
    "signal_catch",
    "signal_caught",
    "signal_default",
    "signal_ignore",
    "signal_set",
];

/// Bytes of an address of a socket, at most.
const ADDRESS: usize = 128;

/// The address of a socket, with its length.
struct Peer(Cell<([u8; ADDRESS], libc::socklen_t)>);

impl Default for Peer {
    fn default() -> Peer {
        Peer(Cell::new(([0; ADDRESS], 0)))
    }
}

impl Peer {
    /// What a call of the system, which is given the room and its length, finds.
    fn filled(&self, call: impl Fn(*mut u8, *mut libc::socklen_t) -> i64) -> i64 {
        let mut room = [0; ADDRESS];
        let mut length = ADDRESS as libc::socklen_t;
        let done = call(room.as_mut_ptr(), &mut length);
        self.0.set((room, length));
        done
    }
}

impl Descriptors {
    /// Whether the number is open.
    pub fn is_open(&self, fd: c_int) -> bool {
        self.open.contains_key(&fd)
    }

    /// Which opening of the number this is, if it is open.
    pub fn life(&self, fd: c_int) -> Option<u32> {
        self.open.get(&fd).map(|open| open.life)
    }

    /// Whether it is still that opening of the number.
    pub fn lives(&self, fd: c_int, life: u32) -> bool {
        self.life(fd) == Some(life)
    }

    /// The number of a `descriptor`.
    fn of(&self, object: ObjId) -> Option<c_int> {
        self.open.iter().find(|(_, open)| open.object == object).map(|(&fd, _)| fd)
    }

    /// Closes a number of the program's.
    pub fn close(&mut self, fd: c_int) -> c_int {
        match self.open.remove(&fd) {
            // SAFETY: the number is one that a call for the program opened, and is closed once.
            Some(_) => unsafe { libc::close(fd) },
            None => -1,
        }
    }

    /// How many are open of these custodians.
    pub fn count_in(&self, custodians: &[usize]) -> usize {
        self.open.values().filter(|open| custodians.contains(&open.custodian)).count()
    }

    /// Closes what `descriptor`s of these custodians hold; a bare number stays open.
    pub fn close_in(&mut self, custodians: &[usize]) -> Vec<c_int> {
        self.close_where(|open| open.object != 0 && custodians.contains(&open.custodian))
    }

    /// Closes what a process has.
    pub fn close_of(&mut self, process: u32) -> Vec<c_int> {
        self.close_where(|open| open.object == 0 && open.process == process)
    }

    /// Whether a signal came that the program does not know of; once.
    pub fn take_untold(&mut self) -> bool {
        !std::mem::take(&mut self.untold).is_empty()
    }

    fn close_where(&mut self, gone: impl Fn(&Open) -> bool) -> Vec<c_int> {
        let found: Vec<c_int> = self.open.iter().filter(|(_, open)| gone(open)).map(|(&fd, _)| fd).collect();
        for &fd in &found {
            self.close(fd);
        }
        found
    }
}

/// How long a socket waits for what it receives, in nanoseconds: 0 if as long as it takes, or if it
/// is not a socket.
fn patience(fd: c_int) -> u64 {
    // SAFETY: all zero bytes are a value of this struct of numbers; the system writes one at most.
    let limit = unsafe {
        let mut limit: libc::timeval = std::mem::zeroed();
        let mut size = size_of::<libc::timeval>() as libc::socklen_t;
        let at = (&raw mut limit).cast();
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, at, &mut size);
        limit
    };
    (limit.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add((limit.tv_usec as u64).saturating_mul(1000))
}

/// The number of the last error.
fn error() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Whether the program asked the descriptor not to wait.
fn never_waits(fd: c_int) -> bool {
    // SAFETY: a call of the system on a number.
    unsafe { libc::fcntl(fd, libc::F_GETFL) & libc::O_NONBLOCK != 0 }
}

/// A FIFO: its device, and its number there.
pub type Fifo = (u64, u64);

/// The FIFO that has this name.
pub fn fifo_at(path: &str) -> Option<Fifo> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let facts = std::fs::metadata(path).ok().filter(|facts| facts.file_type().is_fifo())?;
    Some((facts.dev(), facts.ino()))
}

/// Whether a number is an end of the FIFO that is written.
fn writes_fifo(fd: c_int, fifo: Fifo) -> bool {
    // SAFETY: all zero bytes are a value of this struct of numbers; the system fills a whole one.
    unsafe {
        let mut facts: libc::stat = std::mem::zeroed();
        libc::fstat(fd, &mut facts) == 0
            && (facts.st_dev, facts.st_ino) == fifo
            && libc::fcntl(fd, libc::F_GETFL) & libc::O_ACCMODE != libc::O_RDONLY
    }
}

/// Runs a call of the system that waits, so that it does not: its result, or the error's number.
fn at_once(fd: c_int, call: impl FnOnce() -> i64) -> Result<i64, c_int> {
    // The standard ones are others', too: they stay as they are.
    if fd <= 2 || never_waits(fd) {
        let done = call();
        return if done < 0 { Err(error()) } else { Ok(done) };
    }
    // SAFETY: calls of the system on a number.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
        let done = call();
        let result = if done < 0 { Err(error()) } else { Ok(done) };
        libc::fcntl(fd, libc::F_SETFL, flags);
        result
    }
}

/// Writes as much as fits; nothing if that fails.
pub fn write_some(fd: c_int, bytes: &[u8]) -> Option<usize> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        // SAFETY: the buffer has the length that is given.
        match at_once(fd, || unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) as i64 }) {
            Ok(put) => done += put as usize,
            Err(libc::EAGAIN) => break,
            Err(_) => return None,
        }
    }
    Some(done)
}

/// Reads what is there, or waits for it.
pub fn read_some(fd: c_int, room: &mut [u8]) -> std::io::Result<usize> {
    // SAFETY: the buffer has the length that is given.
    match unsafe { libc::read(fd, room.as_mut_ptr().cast(), room.len()) } {
        got if got < 0 => Err(std::io::Error::last_os_error()),
        got => Ok(got as usize),
    }
}

/// What is ready of these, after at most so many milliseconds; -1: however long it takes.
pub fn ready(list: &[(c_int, bool)], milliseconds: c_int) -> Vec<(c_int, bool)> {
    let events = |writes: bool| if writes { libc::POLLOUT } else { libc::POLLIN };
    let mut all: Vec<libc::pollfd> =
        list.iter().map(|&(fd, writes)| libc::pollfd { fd, events: events(writes), revents: 0 }).collect();
    // SAFETY: the list is as long as is said.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, milliseconds) };
    list.iter().zip(all).filter(|(_, polled)| polled.revents != 0).map(|(&entry, _)| entry).collect()
}

impl Machine<'_> {
    /// Notes a number that was opened for the program, and passes it on.
    pub fn opened_number(&mut self, fd: c_int) -> c_int {
        if fd >= 0 {
            let custodian = self.opens_in();
            self.io.numbers.lives += 1;
            let life = self.io.numbers.lives;
            self.io.numbers.open.insert(fd, Open { process: self.mem.running, custodian, object: 0, life });
        }
        fd
    }

    /// Whether the running process may use a number.
    fn is_mine(&self, fd: c_int) -> bool {
        match self.io.numbers.open.get(&fd) {
            Some(open) if open.object != 0 => {
                self.mem.obj(open.object).is_some_and(|obj| obj.state == State::Live && obj.home == self.mem.running)
            }
            Some(open) => open.process == self.mem.running,
            None => (0..=2).contains(&fd) || self.io.has_number(fd),
        }
    }

    fn failed(&mut self, number: c_int) -> R<Option<Val>> {
        self.set_errno(number);
        int(-1)
    }

    /// Those who wait for a number go on.
    pub fn wake_number(&mut self, fd: c_int) {
        self.wake(Key::Descriptor(fd, false));
        self.wake(Key::Descriptor(fd, true));
    }

    /// Closes what `descriptor`s held that have ended.
    pub fn close_lost(&mut self) {
        let mem = &self.mem;
        let lost = self
            .io
            .numbers
            .close_where(|open| open.object != 0 && mem.obj(open.object).is_none_or(|obj| obj.state != State::Live));
        lost.into_iter().for_each(|fd| self.wake_number(fd));
    }

    fn close_number(&mut self, fd: c_int) -> R<Option<Val>> {
        if (0..=2).contains(&fd) {
            // The oracle's own; of the program, the first process may close them.
            return if self.mem.running == 0 { int(0) } else { self.failed(libc::EBADF) };
        }
        if self.io.close_number_of_stream(fd) || self.lib.close_number_of_directory(fd) {
            return int(0);
        }
        if !self.is_mine(fd) || !self.io.numbers.is_open(fd) {
            return self.failed(libc::EBADF);
        }
        let done = self.io.numbers.close(fd);
        self.wake_number(fd);
        int(done)
    }

    /// The running task waits until a number is ready.
    pub fn wait_for_number<T>(&mut self, fd: c_int, writes: bool) -> R<T> {
        let until = self.tasks.deadline();
        self.tasks.wait_for(vec![Key::Descriptor(fd, writes)], until)
    }

    /// How many bytes of a call the waits before this one have carried.
    ///
    /// Errors: a signal ended the wait, or the number is not open.
    fn resumed(&mut self, fd: c_int) -> Result<u64, c_int> {
        let before = self.tasks.take_progress();
        match (self.tasks.take_interrupted(), self.is_mine(fd)) {
            (true, _) => Err(libc::EINTR),
            (_, false) => Err(libc::EBADF),
            _ => Ok(before),
        }
    }

    /// Reads into memory; `all`: until that many bytes came.
    fn take_in(&mut self, fd: c_int, to: u64, n: u64, all: bool, how: impl Fn(&mut [u8]) -> i64) -> R<Option<Val>> {
        let before = match self.resumed(fd) {
            Ok(before) => before,
            Err(number) => return self.failed(number),
        };
        self.call_of_the_system();
        let mut bytes = vec![0u8; n.saturating_sub(before).min(1 << 24) as usize];
        let got = match at_once(fd, || how(&mut bytes)) {
            Ok(got) => got as u64,
            Err(libc::EAGAIN) if fd > 2 && !never_waits(fd) => {
                let limit = patience(fd);
                if limit == 0 || !self.has_passed(limit) {
                    self.tasks.set_progress(before);
                    return self.wait_for_number(fd, false);
                }
                self.tasks.no_deadline();
                return if before > 0 { int(before as i64) } else { self.failed(libc::EAGAIN) };
            }
            Err(_) if before > 0 => 0,
            Err(number) => return self.failed(number),
        };
        self.tasks.no_deadline();
        bytes.truncate(got as usize);
        self.put_bytes(to.wrapping_add(before), &bytes)?;
        let done = before + got;
        if all && got > 0 && done < n {
            self.tasks.set_progress(done);
            return self.wait_for_number(fd, false);
        }
        int(done as i64)
    }

    /// Writes from memory, all of it unless the program asked not to wait.
    fn give_out(&mut self, fd: c_int, from: u64, n: u64, how: impl Fn(&[u8]) -> i64) -> R<Option<Val>> {
        let before = match self.resumed(fd) {
            Ok(before) => before,
            Err(number) => return self.failed(number),
        };
        self.call_of_the_system();
        let (bytes, _) = self.raw(from.wrapping_add(before), n.saturating_sub(before))?;
        self.io.flush_all();
        if self.options.keep_output && (fd == 1 || fd == 2) {
            self.io.write(fd as usize, &bytes);
            self.io.flush_all();
            return int(bytes.len() as i64);
        }
        let waits = fd > 2 && !never_waits(fd);
        let done = match at_once(fd, || how(&bytes)) {
            Ok(put) => before + put as u64,
            Err(libc::EAGAIN) if waits => before,
            Err(_) if before > 0 => return int(before as i64),
            Err(number) => return self.failed(number),
        };
        if waits && done < n {
            self.tasks.set_progress(done);
            return self.wait_for_number(fd, true);
        }
        int(done as i64)
    }

    fn read_number(&mut self, fd: c_int, to: u64, n: u64) -> R<Option<Val>> {
        // SAFETY: the buffer has the length that is given.
        self.take_in(fd, to, n, false, |room| unsafe { libc::read(fd, room.as_mut_ptr().cast(), room.len()) as i64 })
    }

    fn write_number(&mut self, fd: c_int, from: u64, n: u64) -> R<Option<Val>> {
        // SAFETY: the buffer has the length that is given.
        self.give_out(fd, from, n, |bytes| unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) as i64 })
    }

    /// `accept`: the new number, and the address of the other side; waits for one.
    fn accept_number(&mut self, fd: c_int, flags: c_int, from: &Peer) -> R<c_int> {
        if self.tasks.take_interrupted() {
            self.set_errno(libc::EINTR);
            return Ok(-1);
        }
        if !self.is_mine(fd) {
            self.set_errno(libc::EBADF);
            return Ok(-1);
        }
        let flags = flags | libc::SOCK_CLOEXEC;
        // SAFETY: the room for the address is as long as is said.
        let call = || from.filled(|to, n| i64::from(unsafe { libc::accept4(fd, to.cast(), n, flags) }));
        match at_once(fd, call) {
            Ok(got) => Ok(self.opened_number(got as c_int)),
            Err(libc::EAGAIN) if !never_waits(fd) => self.wait_for_number(fd, false),
            Err(number) => {
                self.set_errno(number);
                Ok(-1)
            }
        }
    }

    fn socket_number(&mut self, a: &Args) -> R<c_int> {
        let flags = a.int(1) as c_int | libc::SOCK_CLOEXEC;
        for again in [true, false] {
            // SAFETY: a call of the system on numbers.
            let fd = unsafe { libc::socket(a.int(0) as c_int, flags, a.int(2) as c_int) };
            if fd >= 0 {
                return Ok(self.opened_number(fd));
            }
            let number = error();
            self.set_errno(number);
            if !again || !matches!(number, libc::EMFILE | libc::ENFILE) {
                break;
            }
            // Those that nothing reaches are closed first.
            let noting = self.mem.pause();
            let collected = self.collect();
            self.mem.resume(noting);
            collected?;
            self.close_lost();
        }
        Ok(-1)
    }

    fn connect_number(&mut self, fd: c_int, address: &[u8]) -> R<Option<Val>> {
        if self.tasks.take_interrupted() {
            return self.failed(libc::EINTR);
        }
        let waited = self.tasks.take_progress() > 0;
        // SAFETY: the address has the length that is given.
        let call =
            || i64::from(unsafe { libc::connect(fd, address.as_ptr().cast(), address.len() as libc::socklen_t) });
        match at_once(fd, call) {
            Ok(_) => int(0),
            Err(libc::EISCONN) if waited => int(0),
            Err(libc::EINPROGRESS | libc::EALREADY) if !never_waits(fd) => {
                self.tasks.set_progress(1);
                self.wait_for_number(fd, true)
            }
            Err(number) => self.failed(number),
        }
    }

    /// `getsockname` and its like: an address, with its length.
    fn socket_address(&mut self, a: &Args, call: impl Fn(*mut u8, *mut libc::socklen_t) -> c_int) -> R<Option<Val>> {
        let found = Peer::default();
        if found.filled(|to, n| i64::from(call(to, n))) < 0 {
            let number = error();
            return self.failed(number);
        }
        self.put_address(a, 1, &found)?;
        int(0)
    }

    /// Writes an address to where argument `n` points to, and its length to where the next one
    /// does.
    fn put_address(&mut self, a: &Args, n: usize, found: &Peer) -> R<()> {
        let [to, _, end] = a.words(n);
        let (room, length) = found.0.get();
        let mut wanted = [0; 4];
        wanted.copy_from_slice(&self.bytes(a.ptr(n + 1), 4)?);
        let most = u64::from(u32::from_le_bytes(wanted)).min(end.saturating_sub(to)).min(u64::from(length));
        self.put_bytes(to, room.get(..most as usize).unwrap_or(&[]))?;
        self.put_bytes(a.ptr(n + 1), &length.to_le_bytes())
    }

    fn two_numbers(&mut self, at: u64, call: impl Fn(*mut c_int) -> c_int) -> R<Option<Val>> {
        let mut fds = [0 as c_int; 2];
        if call(fds.as_mut_ptr()) < 0 {
            let number = error();
            return self.failed(number);
        }
        for fd in fds {
            self.opened_number(fd);
        }
        let bytes: Vec<u8> = fds.iter().flat_map(|fd| fd.to_le_bytes()).collect();
        self.put_bytes(at, &bytes)?;
        int(0)
    }

    fn open_number(&mut self, path: u64, flags: c_int, mode: libc::mode_t) -> R<Option<Val>> {
        let text = self.text(path)?;
        if let Some(fifo) = fifo_at(&text) {
            return match self.open_fifo(&text, fifo, flags)? {
                Ok(fd) => int(fd),
                Err(number) => self.failed(number),
            };
        }
        let Ok(path) = std::ffi::CString::new(text) else { return self.failed(libc::EINVAL) };
        // SAFETY: the path ends with a zero.
        let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, libc::c_uint::from(mode)) };
        if fd < 0 {
            let number = error();
            return self.failed(number);
        }
        int(self.opened_number(fd))
    }

    /// Opens a FIFO, which waits until its other end is open too: the number, or the error's. Who
    /// waits to read has the number already, so that the writer finds a reader.
    pub fn open_fifo(&mut self, path: &str, fifo: Fifo, flags: c_int) -> R<Result<c_int, c_int>> {
        let held = self.tasks.take_progress() as c_int;
        if self.tasks.take_interrupted() {
            if held > 0 {
                self.io.numbers.close(held);
            }
            return Ok(Err(libc::EINTR));
        }
        let fd = match held {
            0 => {
                let Ok(path) = std::ffi::CString::new(path) else { return Ok(Err(libc::EINVAL)) };
                // SAFETY: the path ends with a zero.
                let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC | libc::O_NONBLOCK) };
                if fd < 0 {
                    return match error() {
                        libc::ENXIO if flags & libc::O_NONBLOCK == 0 => {
                            self.tasks.wait_for(vec![Key::Fifo(fifo)], None)
                        }
                        number => Ok(Err(number)),
                    };
                }
                self.opened_number(fd);
                self.wake(Key::Fifo(fifo));
                fd
            }
            held => held,
        };
        if flags & libc::O_NONBLOCK == 0 {
            let is_written = || self.io.numbers.open.keys().any(|&other| writes_fifo(other, fifo));
            let reads = flags & libc::O_ACCMODE == libc::O_RDONLY;
            // A writer that came and went has left the end, or what it wrote.
            if reads && ready(&[(fd, false)], 0).is_empty() && !is_written() {
                self.tasks.set_progress(fd as u64);
                return self.tasks.wait_for(vec![Key::Fifo(fifo), Key::Descriptor(fd, false)], None);
            }
            // SAFETY: a call of the system on a number.
            unsafe { libc::fcntl(fd, libc::F_SETFL, flags & !libc::O_ACCMODE) };
        }
        Ok(Ok(fd))
    }

    /// `poll`
    fn poll_numbers(&mut self, a: &Args) -> R<Option<Val>> {
        if self.tasks.take_interrupted() {
            self.tasks.no_deadline();
            return self.failed(libc::EINTR);
        }
        let size = size_of::<libc::pollfd>() as u64;
        let bytes = self.bytes(a.ptr(0), a.size(1).saturating_mul(size))?;
        let mut all: Vec<libc::pollfd> = vec![];
        for one in bytes.chunks_exact(size as usize) {
            let number = one.get(..4).and_then(|w| w.try_into().ok()).map_or(-1, c_int::from_le_bytes);
            let events = one.get(4..6).and_then(|w| w.try_into().ok()).map_or(0, i16::from_le_bytes);
            all.push(libc::pollfd { fd: number, events, revents: 0 });
        }
        let own: Vec<bool> = all.iter().map(|one| one.fd < 0 || self.is_mine(one.fd)).collect();
        let mut asked = all.clone();
        asked.iter_mut().zip(&own).filter(|(_, own)| !**own).for_each(|(one, _)| one.fd = -1);
        // SAFETY: the list is as long as is said.
        unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, 0) };
        for (one, own) in asked.iter_mut().zip(&own) {
            one.revents = if *own { one.revents } else { libc::POLLNVAL };
        }
        let found = asked.iter().filter(|one| one.revents != 0).count();
        let limit = a.int(2) as i32;
        if found == 0 && limit != 0 && !(limit > 0 && self.is_late(i64::from(limit))) {
            let until = self.tasks.deadline();
            let wanted = all.iter().filter(|one| one.fd >= 0).flat_map(|one| {
                let (reads, writes) = (one.events & libc::POLLIN != 0, one.events & libc::POLLOUT != 0);
                let keys =
                    [reads.then_some(Key::Descriptor(one.fd, false)), writes.then_some(Key::Descriptor(one.fd, true))];
                keys.into_iter().flatten()
            });
            return self.tasks.wait_for(wanted.collect(), until);
        }
        self.tasks.no_deadline();
        for (n, one) in asked.iter().enumerate() {
            self.put_bytes(a.ptr(0).wrapping_add(n as u64 * size + 6), &one.revents.to_le_bytes())?;
        }
        int(found as i64)
    }

    /// A new `descriptor` for a number.
    fn descriptor_for(&mut self, fd: c_int, exchange: bool) -> u64 {
        let id = self.mem.make(Kind::Heap, 16, 16, self.span);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.exchange = exchange;
        }
        let custodian = self.opens_in();
        if let Some(open) = self.io.numbers.open.get_mut(&fd) {
            *open = Open { object: id, custodian: if exchange { usize::MAX } else { custodian }, ..*open };
        }
        self.mem.address(Loc { obj: id, off: 0 })
    }

    fn number_in(&mut self, descriptor: u64) -> R<c_int> {
        if descriptor == 0 {
            return fault("null pointer");
        }
        let id = self.mem.place(descriptor).obj;
        self.close_lost();
        match self.io.numbers.of(id) {
            Some(fd) => Ok(fd),
            None => fault("use of a closed file"),
        }
    }

    /// Takes or gives up a lock on a file. If another task has it, the call is tried again later.
    fn lock_number(&mut self, fd: c_int, whole: bool, a: &Args) -> R<Option<Val>> {
        const PAUSE: u64 = 1_000_000;
        if !self.is_mine(fd) {
            return self.failed(libc::EBADF);
        }
        let how = a.int(1) as c_int;
        let waits = if whole { how & libc::LOCK_NB == 0 } else { how == libc::F_LOCK };
        let tried = if waits && !whole { libc::F_TLOCK } else { how };
        // SAFETY: plain calls of the system.
        let done = unsafe {
            match whole {
                true => libc::flock(fd, tried | libc::LOCK_NB),
                false => libc::lockf(fd, tried, a.int(2) as libc::off_t),
            }
        };
        self.tasks.no_deadline();
        match error() {
            libc::EAGAIN | libc::EACCES if done < 0 && waits => {
                let until = self.now().saturating_add(PAUSE);
                self.tasks.wait_for(vec![], Some(until))
            }
            number if done < 0 => self.failed(number),
            _ => int(done),
        }
    }

    /// <lee/descriptor.lh>, if it is one of its functions.
    fn descriptor_object_call(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        match name {
            "of" => {
                let fd = a.int(0) as c_int;
                match self.is_mine(fd) && self.io.numbers.is_open(fd) {
                    true => ptr(self.descriptor_for(fd, false)),
                    false => ptr(0),
                }
            }
            "fd" => int(self.number_in(a.ptr(0))?),
            "close" => {
                let fd = self.number_in(a.ptr(0))?;
                self.close_number(fd)
            }
            "read" => {
                let fd = self.number_in(a.ptr(0))?;
                self.read_number(fd, a.ptr(1), a.size(2))
            }
            "write" => {
                let fd = self.number_in(a.ptr(0))?;
                self.write_number(fd, a.ptr(1), a.size(2))
            }
            "socket" => {
                let fd = self.socket_number(a)?;
                ptr(if fd < 0 { 0 } else { self.descriptor_for(fd, false) })
            }
            "accept" => {
                let from = self.number_in(a.ptr(0))?;
                let fd = self.accept_number(from, 0, &Peer::default())?;
                ptr(if fd < 0 { 0 } else { self.descriptor_for(fd, false) })
            }
            "give" => {
                let fd = self.number_in(a.ptr(0))?;
                ptr(self.descriptor_for(fd, true))
            }
            "take" => {
                let id = self.mem.place(a.ptr(0)).obj;
                if a.ptr(0) == 0 {
                    return ptr(0);
                }
                let fd = self.io.numbers.of(id).filter(|&fd| self.is_mine(fd));
                let taken = fd.map_or(0, |fd| self.descriptor_for(fd, false));
                self.mem.end(id, State::Freed, self.span);
                if fd.is_none() {
                    self.set_errno(libc::EBADF);
                }
                ptr(taken)
            }
            _ => Ok(None),
        }
    }

    /// A signal comes to the program: what it interrupts goes on, if it is caught.
    fn raise(&mut self, signal: c_int) -> R<Option<Val>> {
        if !(1..65).contains(&signal) {
            return self.failed(libc::EINVAL);
        }
        if self.io.numbers.ignored.contains(&signal) {
            return int(0);
        }
        let Some(times) = self.io.numbers.caught.get_mut(&signal) else {
            return unsupported("a signal that is neither caught nor ignored");
        };
        *times += 1;
        if !self.interrupt_all() {
            self.io.numbers.untold.push(signal);
        }
        int(0)
    }

    /// `kill` of C: a signal to a program.
    fn signal_to(&mut self, program: i128, signal: c_int) -> R<Option<Val>> {
        match (program == i128::from(std::process::id()), signal) {
            (true, 0) => int(0),
            (true, _) => self.raise(signal),
            (false, _) => unsupported("`kill` of another program"),
        }
    }

    /// A function that takes or makes descriptors, if it is one; without `lee_`.
    pub fn descriptor_call(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        let Some(name) = name.strip_prefix("lee_") else {
            return match name {
                "htonl" | "ntohl" => int((a.int(0) as u32).swap_bytes()),
                "htons" | "ntohs" => int((a.int(0) as u16).swap_bytes()),
                "mkfifo" => {
                    let Ok(path) = std::ffi::CString::new(self.string(a.ptr(0))?) else { return int(-1) };
                    // SAFETY: the path ends with a zero.
                    let made = unsafe { libc::mkfifo(path.as_ptr(), a.int(1) as libc::mode_t) };
                    if made < 0 {
                        let number = error();
                        return self.failed(number);
                    }
                    int(0)
                }
                "getrlimit" => {
                    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                    // SAFETY: the system fills a whole struct.
                    if unsafe { libc::getrlimit(a.int(0) as libc::__rlimit_resource_t, &mut limit) } < 0 {
                        let number = error();
                        return self.failed(number);
                    }
                    self.put_bytes(a.ptr(1), &[limit.rlim_cur.to_le_bytes(), limit.rlim_max.to_le_bytes()].concat())?;
                    int(0)
                }
                _ => Ok(None),
            };
        };
        if self.mem.running != 0 {
            let asks = name == "kill" && a.int(1) == 0;
            if WHOLE.contains(&name) && !asks {
                return self.failed(libc::EPERM);
            }
            // These have no result that means an error.
            if name == "alarm" || name == "ualarm" {
                return int(0);
            }
        }
        if let Some(rest) = name.strip_prefix("descriptor_") {
            return self.descriptor_object_call(rest, a);
        }
        let fd = a.int(0) as c_int;
        match name {
            "read" => return self.read_number(fd, a.ptr(1), a.size(2)),
            "write" => return self.write_number(fd, a.ptr(1), a.size(2)),
            "close" => return self.close_number(fd),
            "flock" | "lockf" => return self.lock_number(fd, name == "flock", a),
            "poll" => return self.poll_numbers(a),
            "open" => return self.open_number(a.ptr(0), a.int(1) as c_int, a.int(2) as libc::mode_t),
            "creat" => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                return self.open_number(a.ptr(0), flags, a.int(1) as libc::mode_t);
            }
            // SAFETY: the system writes two numbers.
            "pipe" => return self.two_numbers(a.ptr(0), |fds| unsafe { libc::pipe2(fds, libc::O_CLOEXEC) }),
            "socketpair" => {
                let (domain, kind, protocol) = (a.int(0) as c_int, a.int(1) as c_int, a.int(2) as c_int);
                let kind = kind | libc::SOCK_CLOEXEC;
                // SAFETY: the system writes two numbers.
                return self.two_numbers(a.ptr(3), |fds| unsafe { libc::socketpair(domain, kind, protocol, fds) });
            }
            "socket" => {
                let fd = self.socket_number(a)?;
                return int(fd);
            }
            "accept" | "accept4" => {
                let flags = if name == "accept4" { a.int(3) as c_int } else { 0 };
                let from = Peer::default();
                let fd = self.accept_number(fd, flags, &from)?;
                if fd >= 0 && a.ptr(1) != 0 {
                    self.put_address(a, 1, &from)?;
                }
                return int(fd);
            }
            "raise" => return self.raise(fd),
            "kill" => return self.signal_to(a.int(0), a.int(1) as c_int),
            "pause" => {
                if self.tasks.take_interrupted() {
                    return self.failed(libc::EINTR);
                }
                return self.tasks.wait_for(vec![Key::Signal], None);
            }
            // Nothing that the oracle runs makes a child, but a command.
            "wait" | "waitpid" => {
                return match self.io.has_commands() {
                    true => unsupported("`wait` for a command"),
                    false => self.failed(libc::ECHILD),
                };
            }
            "signal_catch" | "signal_ignore" | "signal_default" => {
                if matches!(
                    fd,
                    libc::SIGKILL | libc::SIGSTOP | libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGABRT
                ) {
                    return self.failed(libc::EINVAL);
                }
                if name == "signal_catch" {
                    self.io.numbers.caught.entry(fd).or_default();
                } else {
                    self.io.numbers.caught.remove(&fd);
                    self.io.numbers.untold.retain(|&signal| signal != fd);
                }
                return int(0);
            }
            "signal_set" => {
                let (way, reserved) = (a.int(1), [libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, libc::SIGBUS]);
                if !(0..=1).contains(&way) || !(1..65).contains(&fd) || reserved.contains(&fd) {
                    return self.failed(libc::EINVAL);
                }
                let ignored = &mut self.io.numbers.ignored;
                let before = ignored.contains(&fd);
                ignored.retain(|&signal| signal != fd);
                if way == 1 {
                    ignored.push(fd);
                }
                return int(before);
            }
            "signal_caught" => {
                let times = self.io.numbers.caught.get_mut(&fd).map_or(0, std::mem::take);
                self.io.numbers.untold.retain(|&signal| signal != fd);
                return int(times);
            }
            _ => {}
        }
        let known = [
            "bind",
            "connect",
            "getsockname",
            "getpeername",
            "setsockopt",
            "send",
            "sendto",
            "recv",
            "recvfrom",
            "fcntl",
            "dup",
            "dup2",
            "pread",
            "pwrite",
        ];
        if !PLAIN.contains(&name) && !known.contains(&name) {
            return Ok(None);
        }
        if !self.is_mine(fd) {
            return self.failed(libc::EBADF);
        }
        let (x, y) = (a.int(1) as i64, a.int(2) as c_int);
        // SAFETY: calls of the system on numbers, and on buffers of the length that is given.
        let done = unsafe {
            match name {
                "bind" => {
                    let address = self.bytes(a.ptr(1), a.size(2))?;
                    i64::from(libc::bind(fd, address.as_ptr().cast(), address.len() as libc::socklen_t))
                }
                "connect" => {
                    let address = self.bytes(a.ptr(1), a.size(2))?;
                    return self.connect_number(fd, &address);
                }
                "getsockname" => return self.socket_address(a, |to, n| libc::getsockname(fd, to.cast(), n)),
                "getpeername" => return self.socket_address(a, |to, n| libc::getpeername(fd, to.cast(), n)),
                "setsockopt" => {
                    let value = self.bytes(a.ptr(3), a.size(4))?;
                    let length = value.len() as libc::socklen_t;
                    i64::from(libc::setsockopt(fd, x as c_int, y, value.as_ptr().cast(), length))
                }
                "send" => {
                    let flags = a.int(3) as c_int | libc::MSG_NOSIGNAL;
                    let how = |bytes: &[u8]| libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) as i64;
                    return self.give_out(fd, a.ptr(1), a.size(2), how);
                }
                "recv" => {
                    let flags = a.int(3) as c_int;
                    let all = flags & libc::MSG_WAITALL != 0;
                    let how = |room: &mut [u8]| {
                        libc::recv(fd, room.as_mut_ptr().cast(), room.len(), flags & !libc::MSG_WAITALL) as i64
                    };
                    return self.take_in(fd, a.ptr(1), a.size(2), all, how);
                }
                "sendto" => {
                    let flags = a.int(3) as c_int | libc::MSG_NOSIGNAL;
                    let to = if a.ptr(4) == 0 { vec![] } else { self.bytes(a.ptr(4), a.size(5))? };
                    let (at, length) = match to.is_empty() {
                        true => (std::ptr::null(), 0),
                        false => (to.as_ptr(), to.len() as libc::socklen_t),
                    };
                    let how = |bytes: &[u8]| {
                        libc::sendto(fd, bytes.as_ptr().cast(), bytes.len(), flags, at.cast(), length) as i64
                    };
                    return self.give_out(fd, a.ptr(1), a.size(2), how);
                }
                "recvfrom" => {
                    let flags = a.int(3) as c_int;
                    let all = flags & libc::MSG_WAITALL != 0;
                    let from = Peer::default();
                    let how = |room: &mut [u8]| {
                        let (at, n, flags) = (room.as_mut_ptr(), room.len(), flags & !libc::MSG_WAITALL);
                        from.filled(|to, length| libc::recvfrom(fd, at.cast(), n, flags, to.cast(), length) as i64)
                    };
                    let got = self.take_in(fd, a.ptr(1), a.size(2), all, how)?;
                    if a.ptr(4) != 0 && got.as_ref().is_some_and(|got| got.int() >= 0) {
                        self.put_address(a, 4, &from)?;
                    }
                    return Ok(got);
                }
                "pread" => {
                    let at = a.int(3) as i64;
                    let how = |room: &mut [u8]| libc::pread(fd, room.as_mut_ptr().cast(), room.len(), at) as i64;
                    return self.take_in(fd, a.ptr(1), a.size(2), false, how);
                }
                "pwrite" => {
                    let at = a.int(3) as i64;
                    let how = |bytes: &[u8]| libc::pwrite(fd, bytes.as_ptr().cast(), bytes.len(), at) as i64;
                    return self.give_out(fd, a.ptr(1), a.size(2), how);
                }
                "fcntl" => match x as c_int {
                    libc::F_GETFL | libc::F_GETFD => i64::from(libc::fcntl(fd, x as c_int)),
                    libc::F_SETFL | libc::F_SETFD => i64::from(libc::fcntl(fd, x as c_int, y)),
                    other => return unsupported(format!("`fcntl` with the command {other}")),
                },
                "dup" => {
                    let new = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0);
                    i64::from(self.opened_number(new))
                }
                "dup2" => {
                    let to = x as c_int;
                    let is_free = to > 2 && libc::fcntl(to, libc::F_GETFD) < 0;
                    if to <= 2 || !is_free && !self.is_mine(to) {
                        return unsupported("`dup2` to a number that is not the program's own");
                    }
                    let made = libc::dup2(fd, to);
                    i64::from(if is_free { self.opened_number(made) } else { made })
                }
                "fdatasync" => i64::from(libc::fdatasync(fd)),
                "fsync" => i64::from(libc::fsync(fd)),
                "ftruncate" => i64::from(libc::ftruncate(fd, x)),
                "isatty" => i64::from(libc::isatty(fd)),
                "listen" => i64::from(libc::listen(fd, x as c_int)),
                "lseek" => libc::lseek(fd, x, y),
                _ => i64::from(libc::shutdown(fd, x as c_int)),
            }
        };
        self.result(done)
    }
}

//! <stdlib.h>, <time.h>, <unistd.h>, <dirent.h>, and Leeward's own functions of the runtime.

use crate::code::*;
use crate::library::*;
use crate::machine::*;
use crate::memory::*;
use std::ffi::CString;
use std::os::fd::AsRawFd;

/// A directory that is open.
#[derive(Debug)]
pub struct Directory {
    names: Vec<(String, u8, u64)>,
    at: usize,
    entry: u64,
    /// The custodian that it was opened in.
    pub custodian: usize,
    /// Open as long as it is, as the system's would be; none: the program closed its number.
    file: Option<std::fs::File>,
}

impl crate::library::Library {
    fn number_of_directory(&self, n: usize) -> Option<i32> {
        let directory = self.directories.get(n)?.as_ref()?;
        directory.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Closes a number that is a directory's; whether it is one.
    pub fn close_number_of_directory(&mut self, fd: i32) -> bool {
        let found = (0..self.directories.len()).find(|&n| self.number_of_directory(n) == Some(fd));
        let Some(directory) = found.and_then(|n| self.directories.get_mut(n)?.as_mut()) else { return false };
        directory.file = None;
        true
    }
}

impl Directory {
    /// Where its entry lies.
    pub fn entry(&self) -> u64 {
        self.entry
    }
}

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// The bytes of `struct dirent`.
const ENTRY: u64 = 280;

/// Functions of the system that the runtime wraps: a task that waits in one lets
/// others run, and a descriptor is of a process.
const IN_FRONT: &[&str] = &["clock_nanosleep", "fstat", "nanosleep", "sleep", "usleep"];

impl Machine<'_> {
    /// The time, with what was skipped.
    fn real_time(&self) -> std::time::Duration {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        now + std::time::Duration::from_nanos(self.tasks.skipped)
    }

    /// A clock of the system. Those that tell no date are of statements, so that the machine's load
    /// does not count.
    fn clock(&self, which: libc::clockid_t) -> std::time::Duration {
        match which {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => self.real_time(),
            _ => std::time::Duration::from_nanos(SECOND.saturating_add(self.now())),
        }
    }

    /// A function of these headers, if it is one.
    pub fn system(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        let name = name.strip_prefix("lee_").filter(|bare| IN_FRONT.contains(bare)).unwrap_or(name);
        match name {
            "exit" | "_exit" | "_Exit" => {
                if name != "exit" {
                    self.lib.at_exit.clear();
                }
                Err(Box::new(Stop::Exit(a.int(0) as i32 & 0xff)))
            }
            "abort" => Err(Box::new(Stop::Exit(134))),
            "lee_atexit" => {
                self.lib.at_exit.push(a.ptr(0));
                int(0)
            }
            "lee_errno" => {
                let (obj, home) = (self.lib.errno, self.mem.running);
                // Each process has one; no address of it leaves its process.
                if let Some(place) = self.mem.obj_mut(obj) {
                    place.home = home;
                }
                ptr(self.mem.address(Loc { obj, off: 0 }))
            }
            "lee_assert_failed" => {
                let text = self.text(a.ptr(0))?;
                fault(format!("assertion failed: {text}"))
            }
            "lee_library_fault" => {
                let text = self.text(a.ptr(0))?;
                fault(text)
            }
            "lee_hold" | "lee_unhold" => Ok(Some(self.hold(name == "lee_hold"))),
            "lee_let_go" => int(0),
            "abs" => int((a.int(0) as i32).wrapping_abs()),
            "labs" | "llabs" => int((a.int(0) as i64).wrapping_abs()),
            "stat" | "lstat" | "fstat" => {
                // SAFETY: all zero bytes are a value of this struct of numbers; the system fills a
                // whole one.
                let (result, bytes) = unsafe {
                    let mut facts: libc::stat = std::mem::zeroed();
                    let result = if name == "fstat" {
                        libc::fstat(a.int(0) as i32, &mut facts)
                    } else {
                        let Ok(path) = CString::new(self.string(a.ptr(0))?) else { return int(-1) };
                        match name {
                            "stat" => libc::stat(path.as_ptr(), &mut facts),
                            _ => libc::lstat(path.as_ptr(), &mut facts),
                        }
                    };
                    let at = (&raw const facts).cast::<u8>();
                    (result, std::slice::from_raw_parts(at, size_of::<libc::stat>()).to_vec())
                };
                let answer = self.result(i64::from(result))?;
                if result == 0 {
                    self.put_bytes(a.ptr(1), &bytes)?;
                }
                Ok(answer)
            }
            "lee_task_join" => self.join(a.ptr(0)).map(Some),
            "lee_task_yield" => {
                self.tasks.switch = true;
                int(0)
            }
            "lee_getenv" | "lee_secure_getenv" => {
                let text = self.text(a.ptr(0))?;
                match std::env::var_os(&text) {
                    Some(value) => {
                        use std::os::unix::ffi::OsStrExt;
                        self.new_string(value.as_bytes(), false).map(Some)
                    }
                    None => Ok(Some(Val::Words([0; 3]))),
                }
            }
            "lee_getcwd" => {
                // A folder that was removed has no name.
                let here = match std::env::current_dir() {
                    Ok(here) => here,
                    Err(error) => {
                        self.set_errno(error.raw_os_error().unwrap_or(libc::ENOENT));
                        return Ok(Some(Val::Words([0; 3])));
                    }
                };
                let text = here.to_string_lossy().into_owned();
                if a.ptr(0) != 0 {
                    if text.len() as u64 >= a.size(1) {
                        self.set_errno(libc::ERANGE);
                        return Ok(Some(Val::Words([0; 3])));
                    }
                    self.put_bytes(a.ptr(0), &[text.as_bytes(), &[0]].concat())?;
                }
                self.new_string(text.as_bytes(), false).map(Some)
            }
            "rand" | "random" | "lrand48" => {
                // C says what `rand` gives only as far as its range goes.
                let seed = self.lib.seed.unwrap_or(1).wrapping_mul(1_103_515_245).wrapping_add(12345);
                self.lib.seed = Some(seed);
                int(i64::from(seed >> 1))
            }
            "srand" | "srandom" | "srand48" => {
                self.lib.seed = Some(a.int(0) as u32);
                int(0)
            }
            "rand_r" => {
                let mut bytes = [0; 4];
                bytes.copy_from_slice(&self.bytes(a.ptr(0), 4)?);
                let seed = u32::from_le_bytes(bytes).wrapping_mul(1_103_515_245).wrapping_add(12345);
                self.put_bytes(a.ptr(0), &seed.to_le_bytes())?;
                int(i64::from(seed >> 1))
            }
            "drand48" => {
                let seed = self.lib.seed.unwrap_or(1).wrapping_mul(1_103_515_245).wrapping_add(12345);
                self.lib.seed = Some(seed);
                Ok(Some(Val::Float(f64::from(seed) / 4_294_967_296.0)))
            }
            "system" => {
                self.io.flush_all();
                let text = self.text(a.ptr(0))?;
                let status = std::process::Command::new("sh").arg("-c").arg(text).status();
                int(status.map_or(-1, |s| {
                    use std::os::unix::process::ExitStatusExt;
                    s.into_raw()
                }))
            }
            "mkstemp" | "mkdtemp" => {
                let pattern = self.string(a.ptr(0))?;
                let Ok(text) = CString::new(pattern) else { return int(-1) };
                let raw = text.into_raw();
                // SAFETY: the string is ours and ends with a zero; libc writes within it.
                let (result, text) = unsafe {
                    let result = match name {
                        "mkstemp" => i64::from(libc::mkstemp(raw)),
                        _ => i64::from(!libc::mkdtemp(raw).is_null()),
                    };
                    (result, CString::from_raw(raw))
                };
                self.put_bytes(a.ptr(0), text.as_bytes())?;
                match name {
                    "mkdtemp" => ptr(if result == 1 { a.ptr(0) } else { 0 }),
                    _ => int(self.opened_number(result as i32)),
                }
            }
            "mkdir" => {
                let path = self.text(a.ptr(0))?;
                let made = std::fs::create_dir(path);
                self.done(made)
            }
            "access" => {
                let Ok(path) = CString::new(self.string(a.ptr(0))?) else { return int(-1) };
                // SAFETY: the path ends with a zero.
                let result = unsafe { libc::access(path.as_ptr(), a.int(1) as i32) };
                self.result(i64::from(result))
            }
            "getpid" => int(i64::from(std::process::id())),
            "getpagesize" => int(4096),
            "getuid" | "geteuid" => {
                // SAFETY: a call of the system without arguments.
                int(i64::from(unsafe { libc::getuid() }))
            }
            "sleep" => {
                self.io.flush_all();
                let left = self.sleep(a.size(0).saturating_mul(SECOND))?;
                int(left.map_or(0, |left| left.div_ceil(SECOND)) as i64)
            }
            "usleep" => {
                let left = self.sleep(a.size(0).saturating_mul(1000))?;
                self.slept(left)
            }
            "nanosleep" => {
                let wanted = self.nanoseconds(a.ptr(0))?;
                let left = self.sleep(wanted)?;
                self.slept(left)
            }
            "clock_nanosleep" => {
                let wanted = self.nanoseconds(a.ptr(2))?;
                let now = self.clock(a.int(0) as i32).as_nanos() as u64;
                let absolute = a.int(1) as i32 & libc::TIMER_ABSTIME != 0;
                let left = self.sleep(if absolute { wanted.saturating_sub(now) } else { wanted })?;
                int(if left.is_some() { libc::EINTR } else { 0 })
            }
            "time" => {
                let seconds = self.real_time().as_secs() as i64;
                if a.ptr(0) != 0 {
                    self.put_bytes(a.ptr(0), &seconds.to_le_bytes())?;
                }
                int(seconds)
            }
            "clock" => int((self.steps / 10) as i64),
            "difftime" => Ok(Some(Val::Float((a.int(0) - a.int(1)) as f64))),
            "clock_gettime" | "timespec_get" => {
                let (now, at) = match name {
                    "clock_gettime" => (self.clock(a.int(0) as i32), a.ptr(1)),
                    _ => (self.real_time(), a.ptr(0)),
                };
                let bytes =
                    [(now.as_secs() as i64).to_le_bytes(), i64::from(now.subsec_nanos()).to_le_bytes()].concat();
                self.put_bytes(at, &bytes)?;
                int(if name == "clock_gettime" { 0 } else { 1 })
            }
            "gmtime_r" | "localtime_r" | "lee_gmtime" | "lee_localtime" => self.broken_down(name, a),
            "mktime" | "timegm" => {
                let mut tm = self.tm(a.ptr(0))?;
                // SAFETY: `tm` is a whole struct of ours.
                let seconds = unsafe {
                    if name == "mktime" {
                        libc::mktime(&mut tm)
                    } else {
                        libc::timegm(&mut tm)
                    }
                };
                self.put_tm(a.ptr(0), &tm)?;
                int(seconds)
            }
            "lee_strftime" => {
                let format = self.string(a.ptr(2))?;
                let tm = self.tm(a.ptr(3))?;
                let Ok(format) = CString::new(format) else { return int(0) };
                let mut room = vec![0u8; a.size(1).min(1 << 16) as usize];
                // SAFETY: the buffer has the length that is given, the format ends with a zero.
                let n = unsafe { libc::strftime(room.as_mut_ptr().cast(), room.len(), format.as_ptr(), &tm) };
                if n > 0 {
                    room.truncate(n + 1);
                    self.put_bytes(a.ptr(0), &room)?;
                }
                int(n as i64)
            }
            "lee_asctime" | "lee_ctime" | "lee_asctime_r" | "lee_ctime_r" => {
                let tm = if name.starts_with("lee_asctime") {
                    self.tm(a.ptr(0))?
                } else {
                    let seconds = self.seconds(a.ptr(0))?;
                    broken(seconds, false)
                };
                let mut room = [0u8; 64];
                // SAFETY: the buffer is longer than the text of a date.
                unsafe { libc::strftime(room.as_mut_ptr().cast(), 64, c"%a %b %e %H:%M:%S %Y".as_ptr(), &tm) };
                let mut text: Vec<u8> = room.iter().copied().take_while(|&b| b != 0).collect();
                text.push(b'\n');
                if name.ends_with("_r") {
                    text.push(0);
                    self.put_bytes(a.ptr(1), &text)?;
                    return ptr(a.ptr(1));
                }
                self.new_string(&text, false).map(Some)
            }
            "lee_dir_open" => {
                let path = self.text(a.ptr(0))?;
                let mut names = vec![(".".to_string(), 4u8, 1u64), ("..".to_string(), 4, 1)];
                let file = std::fs::File::open(&path).ok();
                let custodian = self.opens_in();
                match std::fs::read_dir(&path) {
                    Ok(entries) => {
                        use std::os::unix::fs::DirEntryExt;
                        for entry in entries.flatten() {
                            let kind = entry.file_type().map_or(0, |t| match (t.is_dir(), t.is_symlink()) {
                                (true, _) => 4,
                                (_, true) => 10,
                                _ => 8,
                            });
                            names.push((entry.file_name().to_string_lossy().into_owned(), kind, entry.ino()));
                        }
                        let entry = self.new_block(ENTRY);
                        let n = self.lib.directories.len();
                        self.lib.directories.push(Some(Directory { names, at: 0, entry, custodian, file }));
                        let id = self.mem.make(Kind::Opaque, 0, 16, self.span);
                        if let Some(obj) = self.mem.obj_mut(id) {
                            obj.count = n as u32;
                        }
                        ptr(self.mem.address(Loc { obj: id, off: 0 }))
                    }
                    Err(error) => {
                        self.set_errno(error.raw_os_error().unwrap_or(libc::ENOENT));
                        ptr(0)
                    }
                }
            }
            "lee_dir_fd" => {
                let n = self.directory(a.ptr(0))?;
                int(self.lib.number_of_directory(n).unwrap_or(-1))
            }
            "lee_dir_read" => {
                let n = self.directory(a.ptr(0))?;
                if self.lib.number_of_directory(n).is_none() {
                    self.set_errno(libc::EBADF);
                    return ptr(0);
                }
                let next = self.lib.directories.get_mut(n).and_then(Option::as_mut).and_then(|d| {
                    let found = d.names.get(d.at).cloned();
                    d.at += 1;
                    found.map(|f| (f, d.entry))
                });
                let Some(((name, kind, inode), entry)) = next else { return ptr(0) };
                let mut bytes = inode.to_le_bytes().to_vec();
                bytes.extend_from_slice(&0i64.to_le_bytes());
                bytes.extend_from_slice(&(ENTRY as u16).to_le_bytes());
                bytes.push(kind);
                bytes.extend(name.bytes().take(255));
                bytes.resize(ENTRY as usize, 0);
                self.put_bytes(entry, &bytes)?;
                ptr(entry)
            }
            "lee_dir_close" => {
                let n = self.directory(a.ptr(0))?;
                let gone = self.lib.number_of_directory(n).is_none();
                if gone {
                    self.set_errno(libc::EBADF);
                }
                if let Some(slot) = self.lib.directories.get_mut(n) {
                    *slot = None;
                }
                int(if gone { -1 } else { 0 })
            }
            "lee_dir_rewind" => {
                let n = self.directory(a.ptr(0))?;
                if let Some(d) = self.lib.directories.get_mut(n).and_then(Option::as_mut) {
                    d.at = 0;
                }
                int(0)
            }
            _ => Ok(None),
        }
    }

    fn directory(&self, address: u64) -> R<usize> {
        if address == 0 {
            return fault("null pointer");
        }
        let loc = self.mem.place(address);
        let n = self.mem.obj(loc.obj).filter(|o| o.kind == Kind::Opaque).map(|o| o.count as usize);
        match n.map(|n| (n, self.lib.directories.get(n))) {
            Some((n, Some(Some(_)))) => Ok(n),
            Some((_, Some(None))) => fault("use of a closed file"),
            _ => report(crate::ReportKind::Wild, "a directory is used that is none"),
        }
    }

    /// The nanoseconds of a `struct timespec`.
    fn nanoseconds(&self, at: u64) -> R<u64> {
        let wanted = self.bytes(at, 16)?;
        let word = |n: usize| wanted.get(n..n + 8).and_then(|w| w.try_into().ok()).map_or(0, u64::from_le_bytes);
        Ok(word(0).saturating_mul(SECOND).saturating_add(word(8)))
    }

    /// The result of a sleep, which a signal ended if some of it is left.
    fn slept(&mut self, left: Option<u64>) -> R<Option<Val>> {
        if left.is_some() {
            self.set_errno(libc::EINTR);
        }
        int(if left.is_some() { -1 } else { 0 })
    }

    /// The result of a call of the system: a negative one sets `errno`.
    pub fn result(&mut self, value: i64) -> R<Option<Val>> {
        if value < 0 {
            let number = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            self.set_errno(number);
        }
        int(value)
    }

    fn seconds(&self, address: u64) -> R<i64> {
        if address == 0 {
            return fault("null pointer");
        }
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes(address, 8)?);
        Ok(i64::from_le_bytes(bytes))
    }

    fn broken_down(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        let seconds = self.seconds(a.ptr(0))?;
        let tm = broken(seconds, name.contains("gm"));
        let to = match name.starts_with("lee") {
            true => self.new_block(size_of::<libc::tm>() as u64),
            false => a.ptr(1),
        };
        self.put_tm(to, &tm)?;
        ptr(to)
    }

    fn tm(&self, address: u64) -> R<libc::tm> {
        if address == 0 {
            return fault("null pointer");
        }
        let (bytes, _) = self.raw(address, size_of::<libc::tm>() as u64)?;
        let mut tm = broken(0, true);
        let field = |n: usize| {
            let mut w = [0; 4];
            for (to, from) in w.iter_mut().zip(bytes.iter().skip(4 * n)) {
                *to = *from;
            }
            i32::from_le_bytes(w)
        };
        tm.tm_sec = field(0);
        tm.tm_min = field(1);
        tm.tm_hour = field(2);
        tm.tm_mday = field(3);
        tm.tm_mon = field(4);
        tm.tm_year = field(5);
        tm.tm_wday = field(6);
        tm.tm_yday = field(7);
        tm.tm_isdst = field(8);
        Ok(tm)
    }

    fn put_tm(&mut self, address: u64, tm: &libc::tm) -> R<()> {
        let fields =
            [tm.tm_sec, tm.tm_min, tm.tm_hour, tm.tm_mday, tm.tm_mon, tm.tm_year, tm.tm_wday, tm.tm_yday, tm.tm_isdst];
        let bytes: Vec<u8> = fields.iter().flat_map(|f| f.to_le_bytes()).collect();
        self.put_bytes(address, &vec![0; size_of::<libc::tm>()])?;
        self.put_bytes(address, &bytes)
    }
}

fn broken(seconds: i64, utc: bool) -> libc::tm {
    // SAFETY: all zero bytes are a value of this struct of numbers and a pointer; the functions
    // write a whole struct.
    unsafe {
        let mut tm: libc::tm = std::mem::zeroed();
        if utc {
            libc::gmtime_r(&seconds, &mut tm);
        } else {
            libc::localtime_r(&seconds, &mut tm);
        }
        tm
    }
}

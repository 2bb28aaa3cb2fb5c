//! <stdio.h>

use crate::code::*;
use crate::library::*;
use crate::machine::*;
use crate::scan::Input;

impl Machine<'_> {
    fn opened(&mut self, result: Result<usize, i32>) -> R<Option<Val>> {
        match result {
            Ok(n) => {
                let address = self.stream_address(n);
                self.within_count(self.opens_in(), crate::custodians::Counted::Descriptors)?;
                ptr(address)
            }
            Err(number) => {
                self.set_errno(number);
                ptr(0)
            }
        }
    }

    fn printed(&mut self, stream: usize, format: u64, args: &[(Val, Repr)]) -> R<Option<Val>> {
        let format = self.string(format)?;
        let text = self.format(&format, args)?;
        let done = self.io.write(stream, &text);
        int(if done { text.len() as i32 } else { -1 })
    }

    fn printed_to(&mut self, to: u64, n: u64, format: u64, args: &[(Val, Repr)]) -> R<Option<Val>> {
        let format = self.string(format)?;
        let text = self.format(&format, args)?;
        if n > 0 {
            let kept = text.len().min(n as usize - 1);
            let mut bytes = text.get(..kept).unwrap_or(&[]).to_vec();
            bytes.push(0);
            self.put_bytes(to, &bytes)?;
        }
        int(text.len() as i32)
    }

    /// The running task waits until a stream of a descriptor has written what it was told to.
    fn written(&mut self, f: usize) -> R<()> {
        match self.io.waits_for(f, true) {
            Some(fd) => {
                self.tasks.set_progress(1);
                self.wait_for_number(fd, true)
            }
            None => Ok(()),
        }
    }

    /// The running task waits until there is something to read in a stream of a descriptor.
    fn readable(&mut self, f: usize) -> R<()> {
        match self.io.waits_for(f, false) {
            Some(fd) => self.wait_for_number(fd, false),
            None => Ok(()),
        }
    }

    /// A function of <stdio.h>, if it is one.
    pub fn stdio(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        let done = self.stream_call(name, a);
        if let Some(number) = self.io.failed.take() {
            self.set_errno(number);
        }
        done
    }

    fn stream_call(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        match name {
            "lee_io_stdin" => ptr(self.stream_address(0)),
            "lee_io_stdout" => ptr(self.stream_address(1)),
            "lee_io_stderr" => ptr(self.stream_address(2)),
            "lee_io_printf" => self.printed(1, a.ptr(0), &a.rest(1)),
            "printf" => self.printed(1, a.ptr(0), &a.rest(1)),
            "lee_io_fprintf" => {
                let f = self.stream_of(a.ptr(0))?;
                self.printed(f, a.ptr(1), &a.rest(2))
            }
            "lee_io_vprintf" => {
                let rest = self.va_rest(&a.val(1))?;
                self.printed(1, a.ptr(0), &rest)
            }
            "lee_io_vfprintf" => {
                let f = self.stream_of(a.ptr(0))?;
                let rest = self.va_rest(&a.val(2))?;
                self.printed(f, a.ptr(1), &rest)
            }
            "lee_io_snprintf" => self.printed_to(a.ptr(0), a.size(1), a.ptr(2), &a.rest(3)),
            "lee_io_vsnprintf" => {
                let rest = self.va_rest(&a.val(3))?;
                self.printed_to(a.ptr(0), a.size(1), a.ptr(2), &rest)
            }
            "lee_io_format" => {
                let format = self.string(a.ptr(0))?;
                let text = self.format(&format, &a.rest(1))?;
                self.new_string(&text, false).map(Some)
            }
            "lee_io_vformat" => {
                let format = self.string(a.ptr(0))?;
                let rest = self.va_rest(&a.val(1))?;
                let text = self.format(&format, &rest)?;
                self.new_string(&text, false).map(Some)
            }
            "lee_io_dprintf" => {
                let format = self.string(a.ptr(1))?;
                let text = self.format(&format, &a.rest(2))?;
                self.io.flush_all();
                if a.int(0) == 1 || a.int(0) == 2 {
                    self.io.write(a.int(0) as usize, &text);
                    self.io.flush_all();
                    return int(text.len() as i32);
                }
                unsupported("`dprintf` to another descriptor")
            }
            "lee_io_puts" => {
                let mut text = self.string(a.ptr(0))?;
                text.push(b'\n');
                let done = self.io.write(1, &text);
                int(if done { text.len() as i32 } else { -1 })
            }
            "lee_io_fputs" => {
                let text = self.string(a.ptr(0))?;
                let f = self.stream_of(a.ptr(1))?;
                int(if self.io.write(f, &text) { 1 } else { -1 })
            }
            "lee_io_putchar" => int(if self.io.write(1, &[a.int(0) as u8]) { a.int(0) as u8 as i32 } else { -1 }),
            "lee_io_putc" => {
                let f = self.stream_of(a.ptr(1))?;
                int(if self.io.write(f, &[a.int(0) as u8]) { a.int(0) as u8 as i32 } else { -1 })
            }
            "lee_io_getchar" => int(self.io.next(0).map_or(-1, i32::from)),
            "lee_io_getc" => {
                let f = self.stream_of(a.ptr(0))?;
                int(self.io.next(f).map_or(-1, i32::from))
            }
            "lee_io_ungetc" => {
                let f = self.stream_of(a.ptr(1))?;
                if a.int(0) >= 0 {
                    self.io.back(f, a.int(0) as u8);
                }
                int(a.int(0) as i32)
            }
            "lee_io_fgets" => {
                let (to, n) = (a.ptr(0), a.int(1));
                let f = self.stream_of(a.ptr(2))?;
                self.readable(f)?;
                if n < 1 {
                    return ptr(0);
                }
                let mut line = vec![];
                while (line.len() as i128) < n - 1 {
                    let Some(b) = self.io.next(f) else { break };
                    line.push(b);
                    if b == b'\n' {
                        break;
                    }
                }
                if line.is_empty() && n > 1 {
                    return ptr(0);
                }
                line.push(0);
                self.put_bytes(to, &line)?;
                ptr(to)
            }
            "lee_io_take" => {
                let (to, n, delimiter) = (a.ptr(0), a.size(1), a.int(2) as u8);
                let f = self.stream_of(a.ptr(3))?;
                let mut got = vec![];
                while (got.len() as u64) < n {
                    let Some(b) = self.io.next(f) else { break };
                    got.push(b);
                    if b == delimiter {
                        break;
                    }
                }
                self.put_bytes(to, &got)?;
                int(got.len() as i64)
            }
            "lee_io_getline" => self.get_line(a.ptr(0), a.ptr(1), b'\n', a.ptr(2)),
            "lee_io_getdelim" => self.get_line(a.ptr(0), a.ptr(1), a.int(2) as u8, a.ptr(3)),
            "lee_io_fread" => {
                let (to, size, count) = (a.ptr(0), a.size(1), a.size(2));
                let f = self.stream_of(a.ptr(3))?;
                let Some(want) = size.checked_mul(count).filter(|&w| w > 0) else { return int(0) };
                let mut got = vec![];
                while (got.len() as u64) < want {
                    let Some(b) = self.io.next(f) else { break };
                    got.push(b);
                }
                self.put_bytes(to, &got)?;
                int((got.len() as u64 / size) as i64)
            }
            "lee_io_fwrite" => {
                let (from, size, count) = (a.ptr(0), a.size(1), a.size(2));
                let f = self.stream_of(a.ptr(3))?;
                let Some(want) = size.checked_mul(count).filter(|&w| w > 0) else { return int(0) };
                if self.tasks.take_progress() == 0 {
                    let (bytes, _) = self.raw(from, want)?;
                    if !self.io.write(f, &bytes) {
                        return int(0);
                    }
                }
                if self.io.get(f).is_some_and(|s| s.holds_much()) {
                    self.io.flush(f);
                    self.written(f)?;
                }
                int(count as i64)
            }
            "lee_io_fdopen" => {
                let mode = self.text(a.ptr(1))?;
                let result = self.io.of_number(a.int(0) as i32, &mode);
                self.opened(result)
            }
            "lee_io_fopen" => {
                let (path, mode) = (self.text(a.ptr(0))?, self.text(a.ptr(1))?);
                self.io.flush_all();
                let result = match crate::descriptors::fifo_at(&path) {
                    Some(fifo) => {
                        let flags = match (mode.contains('+'), mode.starts_with('r')) {
                            (true, _) => libc::O_RDWR,
                            (false, true) => libc::O_RDONLY,
                            (false, false) => libc::O_WRONLY,
                        };
                        self.open_fifo(&path, fifo, flags)?.and_then(|fd| self.io.of_number(fd, &mode))
                    }
                    None => self.io.open(&path, &mode),
                };
                self.opened(result)
            }
            "lee_io_freopen" => {
                let (path, mode) = (self.text(a.ptr(0))?, self.text(a.ptr(1))?);
                let f = self.stream_of(a.ptr(2))?;
                match self.io.reopen(f, &path, &mode) {
                    Ok(()) => ptr(a.ptr(2)),
                    Err(number) => {
                        self.set_errno(number);
                        ptr(0)
                    }
                }
            }
            "lee_io_tmpfile" => {
                let result = self.io.temporary();
                self.opened(result)
            }
            "lee_io_popen" => {
                let (command, mode) = (self.text(a.ptr(0))?, self.text(a.ptr(1))?);
                let result = self.io.command(&command, &mode);
                self.opened(result)
            }
            "lee_io_fclose" | "lee_io_pclose" => {
                let f = self.stream_of(a.ptr(0))?;
                self.io.flush(f);
                self.tasks.take_progress();
                self.written(f)?;
                int(self.io.close(f))
            }
            "lee_io_fflush" => {
                if a.ptr(0) == 0 {
                    self.io.flush_all();
                    return int(0);
                }
                let f = self.stream_of(a.ptr(0))?;
                let done = self.io.flush(f);
                self.tasks.take_progress();
                self.written(f)?;
                int(if done { 0 } else { -1 })
            }
            "lee_io_setvbuf" => {
                let f = self.stream_of(a.ptr(0))?;
                self.io.buffering(f, a.int(2) as i32);
                int(0)
            }
            "lee_io_setbuf" => {
                let f = self.stream_of(a.ptr(0))?;
                self.io.buffering(f, if a.ptr(1) == 0 { 2 } else { 0 });
                int(0)
            }
            "lee_io_setlinebuf" => {
                let f = self.stream_of(a.ptr(0))?;
                self.io.buffering(f, 1);
                int(0)
            }
            "lee_io_fileno" => {
                let f = self.stream_of(a.ptr(0))?;
                int(self.io.number(f))
            }
            "lee_io_feof" => {
                let f = self.stream_of(a.ptr(0))?;
                int(self.io.get(f).map_or(0, |s| i32::from(s.eof)))
            }
            "lee_io_ferror" => {
                let f = self.stream_of(a.ptr(0))?;
                int(self.io.get(f).map_or(0, |s| i32::from(s.error)))
            }
            "lee_io_clearerr" => {
                let f = self.stream_of(a.ptr(0))?;
                if let Some(s) = self.io.get(f) {
                    s.eof = false;
                    s.error = false;
                }
                int(0)
            }
            "lee_io_fseek" | "lee_io_fseeko" => {
                let f = self.stream_of(a.ptr(0))?;
                let done = self.io.seek(f, a.int(1) as i64, a.int(2) as i32);
                if !done {
                    self.set_errno(libc::EINVAL);
                }
                int(if done { 0 } else { -1 })
            }
            "lee_io_ftell" | "lee_io_ftello" => {
                let f = self.stream_of(a.ptr(0))?;
                int(self.io.tell(f))
            }
            "lee_io_rewind" => {
                let f = self.stream_of(a.ptr(0))?;
                self.io.seek(f, 0, 0);
                if let Some(s) = self.io.get(f) {
                    s.error = false;
                }
                int(0)
            }
            "lee_io_fgetpos" => {
                let f = self.stream_of(a.ptr(0))?;
                let at = self.io.tell(f);
                self.put_bytes(a.ptr(1), &at.to_le_bytes())?;
                int(if at < 0 { -1 } else { 0 })
            }
            "lee_io_fsetpos" => {
                let f = self.stream_of(a.ptr(0))?;
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&self.bytes(a.ptr(1), 8)?);
                int(if self.io.seek(f, i64::from_le_bytes(bytes), 0) { 0 } else { -1 })
            }
            "lee_io_scanf" => {
                let format = self.string(a.ptr(0))?;
                int(self.scan(Input::Stream(0), &format, &a.rest(1))?)
            }
            "lee_io_fscanf" => {
                let f = self.stream_of(a.ptr(0))?;
                let format = self.string(a.ptr(1))?;
                int(self.scan(Input::Stream(f), &format, &a.rest(2))?)
            }
            "lee_io_sscanf" => {
                let (text, format) = (self.string(a.ptr(0))?, self.string(a.ptr(1))?);
                int(self.scan(Input::Text(text, 0), &format, &a.rest(2))?)
            }
            "lee_io_vscanf" => {
                let format = self.string(a.ptr(0))?;
                let rest = self.va_rest(&a.val(1))?;
                int(self.scan(Input::Stream(0), &format, &rest)?)
            }
            "lee_io_vfscanf" => {
                let f = self.stream_of(a.ptr(0))?;
                let format = self.string(a.ptr(1))?;
                let rest = self.va_rest(&a.val(2))?;
                int(self.scan(Input::Stream(f), &format, &rest)?)
            }
            "lee_io_vsscanf" => {
                let (text, format) = (self.string(a.ptr(0))?, self.string(a.ptr(1))?);
                let rest = self.va_rest(&a.val(2))?;
                int(self.scan(Input::Text(text, 0), &format, &rest)?)
            }
            "lee_io_perror" => {
                let mut text = match a.ptr(0) {
                    0 => vec![],
                    s => self.string(s)?,
                };
                if !text.is_empty() {
                    text.extend_from_slice(b": ");
                }
                text.extend_from_slice(crate::format::error_text(self.errno()).as_bytes());
                text.push(b'\n');
                self.io.write(2, &text);
                int(0)
            }
            "lee_string_within" => {
                let ([p, lo, hi], precision) = (a.words(0), a.int(1));
                if p == 0 {
                    return ptr(0);
                }
                if p < lo || p > hi {
                    return crate::checks::pointer_fault([p, lo, hi], 1);
                }
                let room = hi - p;
                if precision >= 0 && precision as u64 <= room {
                    return ptr(p);
                }
                for i in 0..room {
                    if self.byte(p + i)? == 0 {
                        return ptr(p);
                    }
                }
                fault("no terminating zero within bounds")
            }
            "remove" | "unlink" | "rmdir" => {
                let path = self.text(a.ptr(0))?;
                let done = match name {
                    "rmdir" => std::fs::remove_dir(&path),
                    _ => std::fs::remove_file(&path).or_else(|e| match name {
                        "remove" => std::fs::remove_dir(&path),
                        _ => Err(e),
                    }),
                };
                self.done(done)
            }
            "rename" => {
                let (from, to) = (self.text(a.ptr(0))?, self.text(a.ptr(1))?);
                self.done(std::fs::rename(from, to))
            }
            _ => Ok(None),
        }
    }

    /// 0, or -1 and `errno`.
    pub fn done(&mut self, result: std::io::Result<()>) -> R<Option<Val>> {
        match result {
            Ok(()) => int(0),
            Err(error) => {
                self.set_errno(error.raw_os_error().unwrap_or(libc::EIO));
                int(-1)
            }
        }
    }

    fn get_line(&mut self, line: u64, capacity: u64, delimiter: u8, f: u64) -> R<Option<Val>> {
        if line == 0 || capacity == 0 {
            return fault("null pointer");
        }
        let f = self.stream_of(f)?;
        let mut got = vec![];
        while let Some(b) = self.io.next(f) {
            got.push(b);
            if b == delimiter {
                break;
            }
        }
        let slot = self.mem.place(line);
        let old = self.read(slot, Repr::Words(3), 24, None)?.words();
        let room = if old[0] == 0 { 0 } else { old[2] - old[0] };
        let mut words = old;
        if got.len() as u64 + 1 > room && !got.is_empty() {
            let want = (got.len() as u64 + 1).max(2 * room).max(120);
            if old[0] != 0 {
                self.free_block(old[0], false)?;
            }
            let fresh = self.new_block(want + 1);
            words = [fresh, fresh, fresh + want];
            let bytes = encode(&Val::Words(words), Repr::Words(3));
            self.put_bytes(line, &bytes)?;
            let at = self.mem.place(fresh);
            if let Some(obj) = self.mem.obj_mut(at.obj) {
                obj.owner = line;
            }
        }
        let view = if words[0] == 0 { 0 } else { words[2] - words[0] };
        self.put_bytes(capacity, &view.to_le_bytes())?;
        if got.is_empty() {
            return int(-1);
        }
        let n = got.len() as i64;
        got.push(0);
        self.put_bytes(words[0], &got)?;
        int(n)
    }
}

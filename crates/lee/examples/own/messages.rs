//! Channels: ends that are served by a process, which gets blocks, and by a task, which gets what
//! is owned. Between two statements each end is in the state that its type names.

use crate::body::Body;
use crate::families::Part;
use crate::model::{St, Ty};

/// Contracts, who serves them, and functions on ends. They stand after the blocks of the exchange
/// heap.
pub const SERVERS: Part = (
    "contract $_S {
    in message Work(struct $_E *@exchange p, long n);
    in message Count(long n);
    out message Done(struct $_E *@exchange p);
    out message Total(long n);
    state READY { Work? -> BUSY; Count? -> ASKED; }
    state BUSY { Done! -> READY; }
    state ASKED { Total! -> READY; }
}
process void $_serve($_S.exp:READY e) {
    long total = 0;
    for (;;) {
        switch receive {
        case e.Work(p, n):
            total += n;
            if (p) { if (p->sum != mix(p->id)) abort(); p->num[0]++; }
            send e.Done(p);
            break;
        case e.Count(n):
            send e.Total(total + n);
            break;
        case e.closed():
            free(e);
            return;
        }
    }
}
static $_S.imp:READY $_S_new(void) { channel $_S (c, s); spawn $_serve(s); return c; }
static long $_S_count($_S.imp:READY e, long n) { send e.Count(n); receive e.Total(m); return m; }
static void $_S_begin($_S.imp:READY -> BUSY e, consume struct $_E *@exchange p) { send e.Work(p, 1); }
static $_S.imp:READY $_S_turn(consume $_S.imp:READY e) { send e.Count(1); receive e.Total(n); use(n); return e; }
static void $_S_later(consume $_S.imp:READY e, long n) {
    for (long i = 0; i < n; i++) { if ($_S_count(e, i) < 0) bad(__LINE__); yield(); }
    free(e);
}
/* Who answers first is not told. */
static $_S.imp:READY $_S_gather(consume $_S.imp:READY e, long n) {
    eset<$_S.imp:BUSY> set;
    send e.Work($_E_new(), n);
    eset_add(set, e);
    for (long i = 0; i < n; i++) {
        $_S.imp:READY other = $_S_new();
        send other.Work($_E_new(), i);
        eset_add(set, other);
    }
    $_S.imp:READY last = $_S_new();
    for (;;) {
        switch receive {
        case (d in set).Done(p):
            if (p && p->num[0] != 1) bad(__LINE__);
            free(p);
            free(last);
            last = d;
            break;
        case (d in set).closed():
            bad(__LINE__);
            free(d);
            break;
        case set.empty():
            free(set);
            return last;
        }
    }
}
",
    "local contract $_T {
    in message Put(struct $P *unique p);
    out message Back(struct $P *unique p, long n);
    state READY { Put? -> HELD; }
    state HELD { Back! -> READY; }
}
static void $_keep_one(consume $_T.exp:READY e) {
    for (;;) {
        switch receive {
        case e.Put(p):
            if (p && p->sum != mix(p->id)) bad(__LINE__);
            send e.Back(p, 1);
            break;
        case e.closed():
            free(e);
            return;
        }
    }
}
static $_T.imp:READY $_T_new(void) { channel $_T (c, s); start $_keep_one(s); return c; }
/* What it owns in a message that is not received goes with the channel. */
static void $_T_lose(consume struct $P *unique p) {
    channel $_T (c, s);
    send c.Put(p);
    free(c);
    free(s);
}
static struct $P *unique $_T_pass($_T.imp:READY e, consume struct $P *unique p) {
    send e.Put(p);
    receive e.Back(q, n);
    use(n);
    return q;
}
",
);

impl Body<'_> {
    /// One statement about ends of channels.
    pub fn message_statement(&mut self) -> bool {
        // A function that waits is not called under a cursor on a slot; each server costs a stack.
        if self.slot_cursors > 0 || self.trips > 8 {
            return false;
        }
        self.cost += 20 * self.trips;
        match self.random.chance(60) {
            true => self.server_statement(),
            false => self.keeper_statement(),
        }
    }

    /// A block that is there, or a new one.
    fn block_given(&mut self) -> String {
        self.given(Ty::Block)
    }

    fn server_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        let found = self.movable(|ty| ty == Ty::Server);
        let Some(path) = found.filter(|_| self.random.chance(80)) else { return self.make_new(Ty::Server) };
        let (text, n) = (self.text(&path), self.random.between(1, 4));
        match self.random.below(9) {
            0 => self.line(format!("use({t}_S_count({text}, {n}));")),
            1 | 2 => {
                let (given, got) = (self.block_given(), self.name("got"));
                match self.random.chance(50) {
                    true => self.line(format!("send {text}.Work({given}, {n});")),
                    false => self.line(format!("{t}_S_begin({text}, {given});")),
                }
                self.line(format!("receive {text}.Done({got});"));
                self.declare(got, Ty::Block, St::Live);
            }
            3 => {
                let (given, got, arrived) = (self.block_given(), self.name("got"), self.name("p"));
                self.line(format!("struct {t}_E *@exchange {got} = nullptr;"));
                self.line(format!("send {text}.Work({given}, {n});"));
                self.line("switch receive {");
                self.line(format!("case {text}.Done({arrived}): {got} = {arrived}; break;"));
                self.line(format!("case {text}.closed(): abort();"));
                self.line("}");
                self.declare(got, Ty::Block, St::Live);
            }
            4 => self.move_through(&path, ""),
            5 => self.move_through(&path, &format!("{t}_S_turn")),
            6 => {
                let x = self.name("m");
                let word = self.declared(Ty::Server, &x);
                self.line(format!("{word} = {t}_S_gather({text}, {n});"));
                self.set_st(&path, St::Moved);
                self.declare(x, Ty::Server, St::Live);
            }
            7 => {
                let x = self.name("task");
                self.line(format!("task *{x} = start {t}_S_later({text}, {n});"));
                self.set_st(&path, St::Moved);
                self.line(format!("if (!join({x})) bad(__LINE__);"));
            }
            _ => {
                let Some((a, b)) = self.two(Ty::Server) else { return false };
                let (a, b) = (self.text(&a), self.text(&b));
                self.line(format!("{a} :=: {b};"));
            }
        }
        true
    }

    fn keeper_statement(&mut self) -> bool {
        let t = self.types.tag.clone();
        if self.random.chance(15) {
            let given = self.given(Ty::Unique(0));
            self.line(format!("{t}_T_lose({given});"));
            return true;
        }
        let found = self.movable(|ty| ty == Ty::Keeper);
        let Some(path) = found.filter(|_| self.random.chance(80)) else { return self.make_new(Ty::Keeper) };
        let text = self.text(&path);
        match self.random.below(4) {
            0 | 1 => {
                let (given, got, n) = (self.given(Ty::Unique(0)), self.name("got"), self.name("n"));
                self.line(format!("send {text}.Put({given});"));
                self.line(format!("receive {text}.Back({got}, {n});"));
                self.line(format!("use({n});"));
                self.declare(got, Ty::Unique(0), St::Live);
            }
            2 => {
                let (given, got) = (self.given(Ty::Unique(0)), self.name("got"));
                let word = self.declared(Ty::Unique(0), &got);
                self.line(format!("{word} = {t}_T_pass({text}, {given});"));
                self.declare(got, Ty::Unique(0), St::Live);
            }
            _ => self.move_through(&path, ""),
        }
        true
    }
}

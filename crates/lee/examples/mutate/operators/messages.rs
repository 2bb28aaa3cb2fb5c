//! Scenes of channels, sets, exchange blocks and processes (scenes.rs says how they are written).

use super::scenes::{scene, Scene};
use super::Draw;
use crate::edit::Edit;

/// Messages in another order than the contract says, and ends in other states.
const CHANNELS: &[Scene] = &[
    (ASK, "channel Nc (Na, Nb); send Na.Ask(1); send Na.Ask(2); free(Na); free(Nb);"),
    (ASK, "channel Nc (Na, Nb); send Na.Ask(1); free(Na); free(Nb);"),
    (ASK, "channel Nc (Na, Nb); send Nb.Reply(1); free(Na); free(Nb);"),
    (ASK, "channel Nc (Na, Nb); if (m_one) send Na.Ask(1); send Na.Ask(2); free(Na); free(Nb);"),
    (
        ASK,
        "channel Nc (Na, Nb); for (int Ni = 0; Ni < 2; Ni++) { send Na.Ask(Ni); receive Nb.Ask(Nn); \
         send Nb.Reply(Nn); receive Na.Reply(Nm); m_count += Nm; } free(Na); free(Nb);",
    ),
    (ASK, "channel Nc (Na, Nb); send Na.Ask(1); receive Na.Reply(Nn); m_count += Nn; free(Na); free(Nb);"),
    (ASK, "channel Nc (Na, Nb); send Na.Ask(1); receive Nb.Ask(Nn); receive Nb.Ask(Nm); free(Na); free(Nb);"),
    (ASK, "channel Nc (Na, Nb); send Na.Ask(1); receive Nb.Ask(Nn); send Na.Ask(Nn); free(Na); free(Nb);"),
    (ASK, "channel Nc (Na, Nb); free(Na); send Na.Ask(1); free(Nb);"),
    (ASK, "channel Nc (Na, Nb); free(Na); free(Na); free(Nb);"),
    (ASK, "channel Nc (Na, Nb); free(Na); if (m_count < -1) free(Nb);"),
    (
        ASK,
        "channel Nc (Na, Nb); send Na.Ask(1); switch receive { case Nb.Ask(Nn): m_count += Nn; break; } \
         free(Na); free(Nb);",
    ),
    (
        ASK,
        "channel Nc (Na, Nb); free(Na); switch receive { case Nb.Ask(Nn): m_count += Nn; break; \
         case Nb.closed(): send Nb.Reply(1); break; } free(Nb);",
    ),
    (ASK, "channel Nc (Na, Nb); free(Na); switch receive { case Nb.Ask(Nn): m_count += Nn; break; } free(Nb);"),
    (
        ASK,
        "channel Nc (Na, Nb); send Na.Ask(1); switch receive { case Nb.Ask(Nn): m_count += Nn; break; \
         case Nb.closed(): break; } free(Na); free(Nb);",
    ),
    (
        ASK,
        "channel Nc (Na, Nb); switch receive { case Nb.Ask(Nn): m_count += Nn; break; case Nb.closed(): break; \
         case after (0): send Na.Ask(1); break; } send Na.Ask(2); free(Na); free(Nb);",
    ),
    (ASK_LENT, "channel Nc (Na, Nb); Nf(Na); free(Na); free(Nb);"),
    (ASK_CHANGED, "channel Nc (Na, Nb); Nf(Na); free(Na); free(Nb);"),
    (ASK_CHANGED, "channel Nc (Na, Nb); Nf(Na); send Na.Ask(1); free(Na); free(Nb);"),
    (ASK_TAKEN, "channel Nc (Na, Nb); send Na.Ask(1); Nf(Na); free(Nb);"),
    (ASK_TAKEN, "channel Nc (Na, Nb); Nf(Na); send Na.Ask(1); free(Nb);"),
    (ASK_TAKEN, "channel Nc (Na, Nb); task *Nt = start Nf(Na); join(Nt); free(Nb);"),
    (ASK_TAKEN, "channel Nc (Na, Nb); task *Nt = start Nf(Na); join(Nt); free(Na); free(Nb);"),
    (ASK_BOX, "channel Nc (Na, Nb); send Na.Ask(1); struct Nw No = { Na }; free(No.e); free(Nb);"),
    (ASK_BOX, "channel Nc (Na, Nb); struct Nw No = { Na }; free(No.e); free(Nb);"),
    (ASK_BOX, "channel Nc (Na, Nb); struct Nw No = { Na }; free(Na); free(No.e); free(Nb);"),
    (ASK_BOX, "channel Nc (Na, Nb); struct Nw No = { Na }; Nc.imp Nd = No.e; free(No.e); free(Nd); free(Nb);"),
    (
        ASK,
        "channel Nc (Na, Nb); channel Nc (Nd, Ne); send Na.Ask(1); if (m_one) Na :=: Nd; send Na.Ask(2); free(Na); \
         free(Nb); free(Nd); free(Ne);",
    ),
    (
        ASK,
        "channel Nc (Na, Nb); channel Nc (Nd, Ne); send Na.Ask(1); Na :=: Nd; send Na.Ask(2); free(Na); free(Nb); \
         free(Nd); free(Ne);",
    ),
    (
        ASK,
        "eset<Nc.exp:READY> Ns; channel Nc (Na, Nb); eset_add(Ns, Nb); send Na.Ask(1); switch receive { \
         case (Nd in Ns).Ask(Nn): m_count += Nn; eset_add(Ns, Nd); break; case (Nd in Ns).closed(): free(Nd); break; } \
         free(Ns); free(Na);",
    ),
    (
        ASK,
        "eset<Nc.exp:READY> Ns; channel Nc (Na, Nb); eset_add(Ns, Nb); send Na.Ask(1); switch receive { \
         case (Nd in Ns).Ask(Nn): send Nd.Reply(Nn); eset_add(Ns, Nd); break; \
         case (Nd in Ns).closed(): free(Nd); break; } free(Ns); free(Na);",
    ),
    (ASK, "eset<Nc.exp:READY> Ns; channel Nc (Na, Nb); eset_add(Ns, Nb); free(Nb); free(Ns); free(Na);"),
    (
        CARRY,
        "channel Nc (Na, Nb); channel Nd (Nx, Ny); send Na.Ask(1); send Nx.Take(Na); receive Ny.Take(Nz); \
         free(Nz); free(Nb); free(Nx); free(Ny);",
    ),
    (
        CARRY,
        "channel Nc (Na, Nb); channel Nd (Nx, Ny); send Nx.Take(Na); receive Ny.Take(Nz); send Nz.Ask(1); \
         free(Nz); free(Nb); free(Nx); free(Ny);",
    ),
    (
        CARRY,
        "channel Nc (Na, Nb); channel Nd (Nx, Ny); send Nx.Take(Na); send Na.Ask(1); free(Nb); free(Nx); free(Ny);",
    ),
    (CARRY, "channel Nc (Na, Nb); channel Nd (Nx, Ny); send Nx.Take(Na); free(Na); free(Nb); free(Nx); free(Ny);"),
];

const ASK: &str = "contract Nc { in message Ask(int n); out message Reply(int n); \
                   state READY { Ask? -> Reply! -> READY; } }";
const ASK_LENT: &str = "contract Nc { in message Ask(int n); out message Reply(int n); \
                        state READY { Ask? -> Reply! -> READY; } } static void Nf(Nc.imp:READY e) { send e.Ask(1); }";
const ASK_CHANGED: &str = "contract Nc { in message Ask(int n); out message Reply(int n); \
                           state READY { Ask? -> ASKED; } state ASKED { Reply! -> READY; } } \
                           static void Nf(Nc.imp:READY -> ASKED e) { send e.Ask(1); }";
const ASK_TAKEN: &str = "contract Nc { in message Ask(int n); out message Reply(int n); \
                         state READY { Ask? -> Reply! -> READY; } } \
                         static void Nf(consume Nc.imp:READY e) { send e.Ask(2); free(e); }";
const ASK_BOX: &str = "contract Nc { in message Ask(int n); out message Reply(int n); \
                       state READY { Ask? -> Reply! -> READY; } } struct Nw { Nc.imp:READY e; };";
const CARRY: &str = "contract Nc { in message Ask(int n); out message Reply(int n); \
                     state READY { Ask? -> Reply! -> READY; } } \
                     contract Nd { in message Take(Nc.imp:READY e); state ONE { Take? -> TWO; } state TWO { } }";

/// Blocks that are used after they went, lost, or not whole where their `expose` is left.
const BLOCKS: &[Scene] = &[
    (PUT, "channel Nc (Na, Nb); struct Np *@exchange Nx = new(exchange) struct Np{}; send Na.Put(Nx); m_count += Nx->n; \
           free(Na); free(Nb);"),
    (PUT, "channel Nc (Na, Nb); struct Np *@exchange Nx = new(exchange) struct Np{}; m_count += Nx->n; send Na.Put(Nx); \
           free(Na); free(Nb);"),
    (PUT, "channel Nc (Na, Nb); struct Np *@exchange Nx = new(exchange) struct Np{}; send Na.Put(Nx); free(Nx); \
           free(Na); free(Nb);"),
    (PUT, "channel Nc (Na, Nb); struct Np *@exchange Nx = new(exchange) struct Np{}; if (m_one) send Na.Put(Nx); \
           free(Nx); free(Na); free(Nb);"),
    (PUT, "channel Nc (Na, Nb); struct Np *@exchange Nx = new(exchange) struct Np{}; if (m_count < -1) send Na.Put(Nx); \
           free(Na); free(Nb);"),
    (PUT, "channel Nc (Na, Nb); struct Np *@exchange Nx = new(exchange) struct Np{}; const int *Nq = &Nx->n; \
           send Na.Put(Nx); m_count += *Nq; free(Na); free(Nb);"),
    (PUT, "channel Nc (Na, Nb); send Na.Put(new(exchange) struct Np{}); receive Nb.Put(Ny); m_count += Ny->n; free(Ny); \
           free(Na); free(Nb);"),
    (PUT, "channel Nc (Na, Nb); send Na.Put(new(exchange) struct Np{}); receive Nb.Put(Ny); m_count += Ny->n; \
           free(Na); free(Nb);"),
    (PUT, "channel Nc (Na, Nb); send Na.Put(new(exchange) struct Np{}); receive Nb.Put(Ny); free(Ny); free(Ny); \
           free(Na); free(Nb);"),
    (PUT, "struct Np *@exchange Nx = new(exchange) struct Np{ nullptr, 1 }; Nx = nullptr; m_count += Nx == nullptr;"),
    (PUT, "struct Np *@exchange Nx = new(exchange) struct Np{ new(exchange) int[2], 1 }; expose (Nx) { free(Nx->d); } \
           free(Nx);"),
    (PUT, "struct Np *@exchange Nx = new(exchange) struct Np{ new(exchange) int[2], 1 }; expose (Nx) { free(Nx->d); \
           if (m_one) goto Nl; Nx->d = nullptr; } Nl: free(Nx);"),
    (PUT, "struct Np *@exchange Nx = new(exchange) struct Np{ new(exchange) int[2], 1 }; expose (Nx) { free(Nx->d); \
           Nx->d = nullptr; if (m_one) goto Nl; m_count++; } Nl: free(Nx);"),
    (PUT, "struct Np *@exchange Nx = new(exchange) struct Np{ new(exchange) int[2], 1 }; expose (Nx) { \
           Nx->d = new(exchange) int[3]; } free(Nx);"),
    (PUT, "struct Np *@exchange Nx = new(exchange) struct Np{ new(exchange) int[2], 1 }; int *fat @exchange Nd = nullptr; \
           expose (Nx) { Nd = Nx->d; } free(Nd); free(Nx);"),
    (PUT, "struct Np *@exchange Nx = new(exchange) struct Np{ new(exchange) int[2], 1 }; int *fat @exchange Nd = nullptr; \
           expose (Nx) { Nd = Nx->d; Nx->d = nullptr; } free(Nd); free(Nx);"),
    (PUT, "struct Np *@exchange Nx = new(exchange) struct Np{ new(exchange) int[2], 1 }; expose (Nx) { free(Nx); }"),
    (PUT_TWICE, "channel Nc (Na, Nb); struct Np *@exchange Nx = new(exchange) struct Np{}; send Na.Put(Nx, Nx); free(Na); \
           free(Nb);"),
    (PUT_TWICE, "channel Nc (Na, Nb); send Na.Put(new(exchange) struct Np{}, nullptr); receive Nb.Put(Nx, Ny); free(Nx); \
           free(Ny); free(Na); free(Nb);"),
    (LOCAL, "channel Nc (Na, Nb); T *unique Nx = new T{}; send Na.Put(Nx); receive Nb.Put(Ny); m_count += R(Ny); \
             free(Ny); free(Na); free(Nb);"),
    (LOCAL, "channel Nc (Na, Nb); T *unique Nx = new T{}; send Na.Put(Nx); m_count += R(Nx); free(Na); free(Nb);"),
    (LOCAL, "channel Nc (Na, Nb); T *unique Nx = new T{}; T *Nq = Nx; send Na.Put(Nx); free(Na); free(Nb); \
             m_count += R(Nq);"),
    (LOCAL, "channel Nc (Na, Nb); T *unique Nx = new T{}; send Na.Put(Nx); free(Nx); free(Na); free(Nb);"),
];

const PUT: &str = "struct Np { int *fat @exchange d; int n; }; contract Nc { in message Put(struct Np *@exchange p); \
                   state ONE { Put? -> TWO; } state TWO { } }";
const PUT_TWICE: &str = "struct Np { int *fat @exchange d; int n; }; contract Nc { \
                         in message Put(struct Np *@exchange p, struct Np *@exchange q); \
                         state ONE { Put? -> TWO; } state TWO { } }";
const LOCAL: &str = "local contract Nc { in message Put(T *unique p); state ONE { Put? -> TWO; } state TWO { } }";

/// What a process was given, or what waits for its answer, used by who gave it.
const PROCESSES: &[Scene] = &[
    (SERVED, "channel Nc (Na, Nb); spawn Nf(Nb); send Na.Ask(1); receive Na.Reply(Nn); m_count += Nn; free(Na);"),
    (SERVED, "channel Nc (Na, Nb); spawn Nf(Nb); send Na.Ask(1); send Na.Ask(2); free(Na);"),
    (SERVED, "channel Nc (Na, Nb); spawn Nf(Nb); receive Nb.Ask(Nn); m_count += Nn; free(Na);"),
    (SERVED, "channel Nc (Na, Nb); spawn Nf(Nb); free(Nb); free(Na);"),
    (SERVED, "channel Nc (Na, Nb); spawn Nf(Nb); spawn Nf(Nb); free(Na);"),
    (SERVED, "channel Nc (Na, Nb); if (m_one) spawn Nf(Nb); free(Na);"),
    (SERVED, "channel Nc (Na, Nb); send Na.Ask(1); receive Nb.Ask(Nn); m_count += Nn; spawn Nf(Nb); free(Na);"),
    (
        SERVED,
        "channel Nc (Na, Nb); spawn Nf(Nb); send Na.Ask(1); switch receive { case Na.Reply(Nn): m_count += Nn; break; \
         case Na.closed(): break; } free(Na);",
    ),
    (
        SERVED,
        "eset<Nc.imp:ASKED> Ns; for (int Ni = 0; Ni < 3; Ni++) { channel Nc (Na, Nb); spawn Nf(Nb); send Na.Ask(Ni); \
         eset_add(Ns, Na); } for (int Ni = 0; Ni < 3; Ni++) switch receive { case (Nd in Ns).Reply(Nn): m_count += Nn; \
         free(Nd); break; case (Nd in Ns).closed(): free(Nd); break; case Ns.empty(): break; } free(Ns);",
    ),
    (GIVEN, "struct Np *@exchange Nx = new(exchange) struct Np{ 1 }; spawn Nf(Nx);"),
    (GIVEN, "struct Np *@exchange Nx = new(exchange) struct Np{ 1 }; spawn Nf(Nx); m_count += Nx->n;"),
    (GIVEN, "struct Np *@exchange Nx = new(exchange) struct Np{ 1 }; spawn Nf(Nx); free(Nx);"),
    (GIVEN, "struct Np *@exchange Nx = new(exchange) struct Np{ 1 }; int *Nq = &Nx->n; spawn Nf(Nx); m_count += *Nq;"),
    (GIVEN, "struct Np *@exchange Nx = new(exchange) struct Np{ 1 }; int *Nq = &Nx->n; m_count += *Nq; spawn Nf(Nx);"),
    (GIVEN, "struct Np *@exchange Nx = new(exchange) struct Np{ 1 }; if (m_one) spawn Nf(Nx);"),
    (GIVEN, "struct Np *@exchange Nx = new(exchange) struct Np{ 1 }; { cursor Nq = &Nx; spawn Nf(Nx); }"),
];

const SERVED: &str = "contract Nc { in message Ask(int n); out message Reply(int n); \
                      state READY { Ask? -> ASKED; } state ASKED { Reply! -> READY; } } \
                      process void Nf(Nc.exp:READY e) { for (;;) switch receive { case e.Ask(n): send e.Reply(n + 1); \
                      break; case e.closed(): free(e); return; } }";
const GIVEN: &str = "struct Np { int n; }; process void Nf(struct Np *@exchange p) { p->n++; free(p); }";

pub(super) fn processes(d: &mut Draw) -> Option<Vec<Edit>> {
    scene(d, PROCESSES)
}

pub(super) fn channels(d: &mut Draw) -> Option<Vec<Edit>> {
    scene(d, CHANNELS)
}

pub(super) fn blocks(d: &mut Draw) -> Option<Vec<Edit>> {
    scene(d, BLOCKS)
}

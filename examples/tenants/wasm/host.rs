//! The tenants as WebAssembly under wasmtime: `host PORT MODULE`. The handlers are the same files
//! as Leeward's and C's. Each tenant is an instance in a store of its own; what it forks is one
//! more, below the same limits. All run on one thread, and in turns: one that computes gives way at
//! each tick of the epoch. One that fails, or takes too long, ends, and the next request starts it
//! again. 0 is a free port.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, io, thread};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use wasmtime::{
    bail, format_err, Caller, Config, Engine, InstancePre, Linker, Memory, Module, PoolingAllocationConfig,
    ResourceLimiter, Result, Store, TypedFunc, UpdateDeadline,
};

const TENANTS: usize = 200;
const BODY_MOST: usize = 1 << 20;
const REPLY_MOST: usize = 8192;

// As in ../tenants.lh. `EVENTS_MOST` is its limit of ends of channels: events wait in the host.
const MEMORY_MOST: usize = 8 << 20;
const INSTANCES_MOST: usize = 20;
const EVENTS_MOST: usize = 1000;
const PATIENCE: Duration = Duration::from_millis(500);

const POOL: u32 = 1000;
const TICK: Duration = Duration::from_millis(1);
const WASM_STACK: usize = 256 << 10;

struct Host {
    engine: Engine,
    tenant: InstancePre<State>,
}

/// What the instances of one tenant share: what its custodian is in Leeward.
#[derive(Default)]
struct Home {
    memory: AtomicUsize,
    instances: AtomicUsize,
    forked: Mutex<Vec<AbortHandle>>,
}

/// One of the instances of a home, with its memory.
struct Seat {
    home: Arc<Home>,
    memory: usize,
}

impl Seat {
    fn take(home: &Arc<Home>) -> Result<Seat> {
        if home.instances.load(Relaxed) >= INSTANCES_MOST {
            bail!("the limit of instances");
        }
        home.instances.fetch_add(1, Relaxed);
        Ok(Seat { home: home.clone(), memory: 0 })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.home.instances.fetch_sub(1, Relaxed);
        self.home.memory.fetch_sub(self.memory, Relaxed);
    }
}

struct State {
    host: Arc<Host>,
    seat: Seat,
    events: Vec<(i32, [u8; 200])>,
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        let more = desired - current;
        if self.seat.home.memory.load(Relaxed) + more > MEMORY_MOST {
            // An error ends the instance; `false` would have the handler see a null pointer.
            bail!("the limit of memory");
        }
        self.seat.home.memory.fetch_add(more, Relaxed);
        self.seat.memory += more;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        Ok(desired <= 100)
    }

    fn instances(&self) -> usize {
        1
    }

    fn memories(&self) -> usize {
        1
    }
}

struct Instance {
    store: Store<State>,
    memory: Memory,
    room: TypedFunc<u32, u32>,
    serve: TypedFunc<(u32, u32, u32), u32>,
}

impl Instance {
    async fn start(host: &Arc<Host>, seat: Seat) -> Result<Instance> {
        let mut store = Store::new(&host.engine, State { host: host.clone(), seat, events: Vec::new() });
        store.limiter(|state| state);
        store.set_epoch_deadline(1);
        // tokio looks at its sockets before whoever gave way runs again.
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))));
        let instance = host.tenant.instantiate_async(&mut store).await?;
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(|| format_err!("no memory"))?;
        let room = instance.get_typed_func(&mut store, "room")?;
        let serve = instance.get_typed_func(&mut store, "serve")?;
        Ok(Instance { store, memory, room, serve })
    }

    /// The handler's answer to a body, which is copied into the instance's memory.
    async fn serve(&mut self, kind: usize, body: &[u8]) -> Result<&[u8]> {
        let length = body.len() as u32;
        let at = self.room.call_async(&mut self.store, length).await?;
        if at == 0 {
            bail!("no memory");
        }
        self.memory.write(&mut self.store, at as usize, body)?;
        let reply = self.serve.call_async(&mut self.store, (kind as u32, at, length)).await?;
        self.store.data_mut().events.clear();
        // A `struct reply`. What overran a buffer may have been written there.
        let memory = self.memory.data(&self.store);
        let reply = memory.get(reply as usize..).unwrap_or_default();
        let Some((used, text)) = reply.split_first_chunk::<4>() else { bail!("no reply") };
        let used = u32::from_le_bytes(*used) as usize;
        text.get(..used).filter(|_| used <= REPLY_MOST).ok_or_else(|| format_err!("no reply"))
    }
}

/// A tenant that runs. With it, all ends that it forked.
struct Tenant {
    instance: Instance,
    home: Arc<Home>,
}

impl Tenant {
    async fn start(host: &Arc<Host>) -> Result<Tenant> {
        let home = Arc::new(Home::default());
        let instance = Instance::start(host, Seat::take(&home)?).await?;
        Ok(Tenant { instance, home })
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        for forked in self.home.forked.lock().iter().flat_map(|all| all.iter()) {
            forked.abort();
        }
    }
}

async fn ask(code: i32) -> i32 {
    if !(1..=9).contains(&code) {
        pending::<()>().await;
    }
    100 + code
}

fn emit(mut caller: Caller<'_, State>, value: i32) -> Result<()> {
    let events = &mut caller.data_mut().events;
    if events.len() >= EVENTS_MOST {
        bail!("the limit of events");
    }
    events.push((value, [0; 200]));
    Ok(())
}

fn fork(mut caller: Caller<'_, State>, at: u32, length: u32) -> Result<()> {
    let memory =
        caller.get_export("memory").and_then(|found| found.into_memory()).ok_or_else(|| format_err!("no memory"))?;
    let mut program = vec![0; (length as usize).min(BODY_MOST)];
    memory.read(&caller, at as usize, &mut program)?;
    let State { host, seat, .. } = caller.data();
    let (host, home) = (host.clone(), seat.home.clone());
    let seat = Seat::take(&home)?;
    let forked = tokio::spawn(async move {
        // What it answers, and why it ends, nobody reads.
        if let Ok(mut instance) = Instance::start(&host, seat).await {
            let _ = instance.serve(2, &program).await;
        }
    });
    if let Ok(mut all) = home.forked.lock() {
        all.retain(|one| !one.is_finished());
        all.push(forked.abort_handle());
    }
    Ok(())
}

fn start_host(module: &str) -> Result<Host> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(POOL)
        .total_memories(POOL)
        .total_tables(POOL)
        .total_stacks(POOL)
        .max_memory_size(MEMORY_MOST);
    let mut config = Config::new();
    config
        .allocation_strategy(pool)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(2 * WASM_STACK);
    let engine = Engine::new(&config)?;
    let module = Module::from_file(&engine, module)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap_async("env", "host_ask", |_: Caller<'_, State>, (code,): (i32,)| Box::new(ask(code)))?;
    linker.func_wrap("env", "host_emit", emit)?;
    linker.func_wrap("env", "host_fork", fork)?;
    Ok(Host { tenant: linker.instantiate_pre(&module)?, engine })
}

type Slots = Arc<Vec<tokio::sync::Mutex<Option<Tenant>>>>;

/// One request at a time; `None` if the tenant failed.
async fn answer(host: &Arc<Host>, slots: &Slots, which: usize, body: &[u8]) -> Option<Vec<u8>> {
    let mut slot = slots[which].lock().await;
    let mut tenant = match slot.take() {
        Some(tenant) => tenant,
        None => Tenant::start(host).await.ok()?,
    };
    let reply = timeout(PATIENCE, tenant.instance.serve(which % 3, body)).await.ok()?.ok()?;
    let mut text =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", reply.len()).into_bytes();
    text.extend_from_slice(reply);
    *slot = Some(tenant);
    Some(text)
}

fn say(status: &str, text: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len()).into_bytes()
}

async fn serve(host: Arc<Host>, slots: Slots, mut client: TcpStream) -> io::Result<()> {
    let mut head = Vec::with_capacity(4096);
    let end = loop {
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if head.len() >= 4096 || client.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    };
    let mut body = head.split_off(end + 4);
    let head = String::from_utf8_lossy(&head);
    let number = |after: &str| {
        let (_, rest) = head.split_once(after)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
    };
    let which = if head.starts_with("POST /t") { number("POST /t") } else { None };
    let length = number("Content-Length: ").unwrap_or(0);
    let answered = match which {
        Some(which) if which < TENANTS && length <= BODY_MOST => {
            let there = body.len().min(length);
            body.resize(length, 0);
            client.read_exact(&mut body[there..]).await?;
            answer(&host, &slots, which, &body).await.unwrap_or_else(|| say("500 Tenant Failed", "it was ended\n"))
        }
        _ => say("404 Not Found", "POST to /t0 to /t199\n"),
    };
    client.write_all(&answered).await
}

async fn run(port: u16, module: &str) -> Result<()> {
    let host = Arc::new(start_host(module)?);
    let mut slots = Vec::new();
    for _ in 0..TENANTS {
        slots.push(tokio::sync::Mutex::new(Some(Tenant::start(&host).await?)));
    }
    let slots = Arc::new(slots);
    let listening = TcpListener::bind(("127.0.0.1", port)).await?;
    println!(
        "wasmtime 48, pooling allocator of {POOL} instances, {} KB of memory (store limiter) and \
         {INSTANCES_MOST} instances a tenant, {} KB of stack, epoch of {} ms (gives way), \
         {} ms for a request\nopen http://{}/",
        MEMORY_MOST >> 10,
        WASM_STACK >> 10,
        TICK.as_millis(),
        PATIENCE.as_millis(),
        listening.local_addr()?
    );
    let engine = host.engine.clone();
    thread::spawn(move || loop {
        thread::sleep(TICK);
        engine.increment_epoch();
    });
    loop {
        if let Ok((client, _)) = listening.accept().await {
            tokio::spawn(serve(host.clone(), slots.clone(), client));
        }
    }
}

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let (Some(port), Some(module)) = (arguments.next().and_then(|port| port.parse().ok()), arguments.next()) else {
        bail!("usage: host PORT MODULE");
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(port, &module))
}

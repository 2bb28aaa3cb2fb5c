//! The figures of `../../figures.lee` with tokio's tasks, on one thread: MODE COUNT [SIZE].
use tokio::sync::{mpsc, oneshot, Semaphore};

/// Processor time of the program, in nanoseconds.
fn now() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}

fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4096.0
}

/// There and back: nanoseconds of both.
async fn pass<T: Send + 'static>(n: usize, first: T, touch: fn(&mut T)) -> f64 {
    let (to, mut there) = mpsc::channel::<T>(1);
    let (from, mut back) = mpsc::channel::<T>(1);
    tokio::spawn(async move {
        while let Some(mut x) = there.recv().await {
            touch(&mut x);
            if from.send(x).await.is_err() {
                break;
            }
        }
    });
    let main = tokio::spawn(async move {
        let mut x = first;
        let t = now();
        for _ in 0..n {
            to.send(x).await.ok().unwrap();
            x = back.recv().await.unwrap();
            touch(&mut x);
        }
        now() - t
    });
    main.await.unwrap() / n as f64
}

/// Each passes a copy, as processes that share nothing would have to.
fn copied(b: &mut Vec<u8>) {
    *b = b.clone();
    b[0] = b[0].wrapping_add(1);
}

async fn park(n: usize, bytes: bool) {
    let never = std::sync::Arc::new(Semaphore::new(0));
    let (memory, t) = (resident(), now());
    for i in 0..n {
        let never = never.clone();
        tokio::spawn(async move {
            let _ = never.acquire().await;
        });
        if i % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    tokio::task::yield_now().await;
    match bytes {
        true => println!("{:.0}", (resident() - memory) / n as f64),
        false => println!("{:.2}", (now() - t) / n as f64),
    }
    std::process::exit(0);
}

async fn run(mode: String, n: usize, size: usize) {
    match mode.as_str() {
        "trip" => println!("{:.2}", pass(n, 1u64, |x| *x += 1).await),
        "send" => {
            let first = vec![1u8; size].into_boxed_slice();
            println!("{:.2}", pass(n, first, |b| b[0] = b[0].wrapping_add(1)).await / 2.0);
        }
        "copy" => println!("{:.2}", pass(n, vec![1u8; size], copied).await / 2.0),
        "spawn" => {
            let t = now();
            for _ in 0..n {
                let (tell, told) = oneshot::channel();
                tokio::spawn(async move {
                    let _ = tell.send(());
                });
                told.await.unwrap();
            }
            println!("{:.2}", (now() - t) / n as f64);
        }
        "switch" => {
            tokio::spawn(async move {
                for _ in 0..n {
                    tokio::task::yield_now().await;
                }
            });
            let t = now();
            for _ in 0..n {
                tokio::task::yield_now().await;
            }
            println!("{:.2}", (now() - t) / n as f64 / 2.0);
        }
        "park" => park(n, false).await,
        "memory" => park(n, true).await,
        _ => std::process::exit(2),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n = args[2].parse().unwrap();
    let size = args.get(3).map_or(0, |s| s.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mode = args[1].clone();
    // As a task: the future of `block_on` itself is polled apart from the queue.
    runtime.block_on(async move { tokio::spawn(run(mode, n, size)).await.unwrap() });
}

//! Entry of the command.

use driver::parallel::STACK;
use driver::{commands, report};
use std::process::exit;

fn main() {
    std::panic::set_hook(Box::new(|panic| {
        report::line(&format!(
            "internal error: {panic}\nThis is a bug in lee. Please report it with the program that shows it."
        ));
    }));
    let work = || commands::main(std::env::args_os().collect());
    let status = match std::thread::Builder::new().stack_size(STACK).spawn(work) {
        Ok(thread) => thread.join().unwrap_or(101),
        Err(error) => {
            report::line(&format!("cannot start a thread with a stack of {} MB: {error}", STACK >> 20));
            1
        }
    };
    exit(status);
}

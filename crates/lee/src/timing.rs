//! How long each pass took.

use std::time::{Duration, Instant};

/// Stop watch of one unit.
#[derive(Default)]
pub struct Timer {
    rows: Vec<(&'static str, Duration)>,
}

impl Timer {
    /// Runs a pass and notes its time.
    pub fn pass<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.rows.push((name, start.elapsed()));
        result
    }

    /// Adds times that were measured elsewhere.
    pub fn add(&mut self, rows: &[(&'static str, Duration)]) {
        self.rows.extend_from_slice(rows);
    }

    /// A table, the sum last.
    pub fn table(&self, title: &str) -> String {
        let total: Duration = self.rows.iter().map(|(_, time)| *time).sum();
        let mut text = format!("{title}:\n");
        for (name, time) in self.rows.iter().chain(&[("total", total)]) {
            text.push_str(&format!("  {:<18}{:>9.3} ms\n", name, time.as_secs_f64() * 1000.0));
        }
        text
    }
}

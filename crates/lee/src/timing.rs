//! How long each pass took, and how much the analyses looked at.

use std::time::{Duration, Instant};

/// Stop watch of one unit.
#[derive(Default)]
pub struct Timer {
    rows: Vec<(&'static str, Duration)>,
    work: u64,
    cut: Vec<String>,
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

    /// Adds what the analyses looked at: unlike times the same on every machine.
    pub fn add_work(&mut self, work: u64) {
        self.work += work;
    }

    /// Adds functions that the second verifier did not walk to the end.
    pub fn left_unwalked(&mut self, functions: Vec<String>) {
        self.cut.extend(functions);
    }

    /// A table, the sum last.
    pub fn table(&self, title: &str) -> String {
        let total: Duration = self.rows.iter().map(|(_, time)| *time).sum();
        let mut text = format!("{title}:\n");
        for (name, time) in self.rows.iter().chain(&[("total", total)]) {
            text.push_str(&format!("  {:<18}{:>9.3} ms\n", name, time.as_secs_f64() * 1000.0));
        }
        text.push_str(&format!("  {:<18}{:>9} statements, edges and facts\n", "analyses saw", self.work));
        let names = self.cut.iter().map(|name| format!(" {name}")).collect::<String>();
        text.push_str(&format!(
            "  {:<18}{:>9} functions with paths not walked{names}\n",
            "verifier left",
            self.cut.len()
        ));
        text
    }
}

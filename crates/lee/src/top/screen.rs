//! The tables on a terminal, drawn again each second.

use super::draw::{is_text, widths};
use super::rows::{rows, Order, Rows, CUSTODIANS, ENDS, PROCESSES};
use super::Asked;
use crate::failure::{reason, Failure, Outcome};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Table};
use ratatui::Frame;
use std::io::Error;
use std::time::{Duration, Instant};

/// Between two pictures.
const PAUSE: Duration = Duration::from_secs(1);
/// So many circles of processes are drawn.
const CYCLES: usize = 3;
const KEYS: &str = "q: end   m: by memory   t: by time   c: channels   up, down: scroll";

/// What the keys change.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct View {
    pub order: Order,
    /// Ends of channels instead of processes.
    pub channels: bool,
    /// Rows above those that are shown.
    pub scrolled: usize,
}

/// Draws until the program ends, or `q` or an interrupt ends this one.
pub fn watch(asked: &mut Asked) -> Outcome<i32> {
    let mut now = asked.ask()?;
    let failed = |error: Error| Failure::error(format!("cannot draw on the terminal: {}", reason(&error)));
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let (mut before, mut view, mut drawn) = (None, View::default(), Instant::now());
    let result = loop {
        let shown = rows(&now, before.as_ref(), view.order);
        let most = shown.processes.len().max(shown.custodians.len()).max(shown.ends.len());
        view.scrolled = view.scrolled.min(most.saturating_sub(1));
        if let Err(error) = terminal.draw(|frame| picture(frame, &shown, view)) {
            break Err(failed(error));
        }
        match key(PAUSE.saturating_sub(drawn.elapsed())) {
            Err(error) => break Err(failed(error)),
            Ok(Some(code)) => match change(view, code) {
                Some(changed) => view = changed,
                None => break Ok(0),
            },
            Ok(None) => match asked.ask() {
                Ok(next) => (before, now, drawn) = (Some(now), next, Instant::now()),
                Err(_) => break Ok(0), // the program has ended
            },
        }
    };
    ratatui::restore();
    result
}

/// The key that was pressed within the time.
fn key(time: Duration) -> Result<Option<KeyCode>, Error> {
    if !event::poll(time)? {
        return Ok(None);
    }
    Ok(match event::read()? {
        Event::Key(key) if key.kind == KeyEventKind::Press => {
            let interrupt = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
            Some(if interrupt { KeyCode::Esc } else { key.code })
        }
        _ => Some(KeyCode::Null), // the size has changed
    })
}

/// None: it ends.
pub fn change(view: View, code: KeyCode) -> Option<View> {
    let page = 10;
    Some(match code {
        KeyCode::Char('q') | KeyCode::Esc => return None,
        KeyCode::Char('m') => View { order: Order::Memory, ..view },
        KeyCode::Char('t') => View { order: Order::Time, ..view },
        KeyCode::Char('c') => View { channels: !view.channels, scrolled: 0, ..view },
        KeyCode::Up => View { scrolled: view.scrolled.saturating_sub(1), ..view },
        KeyCode::Down => View { scrolled: view.scrolled + 1, ..view },
        KeyCode::PageUp => View { scrolled: view.scrolled.saturating_sub(page), ..view },
        KeyCode::PageDown => View { scrolled: view.scrolled + page, ..view },
        _ => view,
    })
}

/// One picture.
pub fn picture(frame: &mut Frame, rows: &Rows, view: View) {
    let head = [std::slice::from_ref(&rows.summary), &rows.cycles[..rows.cycles.len().min(CYCLES)]].concat();
    let height = head.len() as u16;
    let head = head.join("\n");
    let [top, custodians, processes, bottom] =
        Layout::vertical([Constraint::Length(height), Constraint::Fill(1), Constraint::Fill(1), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(head.as_str()), top);
    table(frame, custodians, "custodians", &CUSTODIANS, &rows.custodians, view);
    if view.channels {
        table(frame, processes, "ends of channels", &ENDS, &rows.ends, view);
    } else {
        table(frame, processes, "processes", &PROCESSES, &rows.processes, view);
    }
    frame.render_widget(Paragraph::new(KEYS).style(Style::new().add_modifier(Modifier::DIM)), bottom);
}

fn table<const N: usize>(
    frame: &mut Frame,
    area: Rect,
    title: &str,
    heads: &[&str; N],
    rows: &[[String; N]],
    view: View,
) {
    let cell = |n: usize, text: &str| {
        let left = heads.get(n).is_some_and(|head| is_text(head));
        let line = Line::raw(text.to_string()).alignment(if left { Alignment::Left } else { Alignment::Right });
        Cell::from(Text::from(line))
    };
    let header = Row::new(heads.iter().enumerate().map(|(n, head)| cell(n, head)))
        .style(Style::new().add_modifier(Modifier::BOLD));
    let body = rows.iter().skip(view.scrolled).map(|row| {
        let style = if is_busy(row) { Style::new().fg(Color::Yellow) } else { Style::new() };
        Row::new(row.iter().enumerate().map(|(n, text)| cell(n, text))).style(style)
    });
    let widths = widths(heads, rows).map(|width| Constraint::Length(u16::try_from(width).unwrap_or(u16::MAX)));
    let title = format!(" {} {title} ", rows.len());
    frame.render_widget(Table::new(body, widths).header(header).block(Block::bordered().title(title)), area);
}

/// A process that computes; a custodian that has most of the time.
fn is_busy<const N: usize>(row: &[String; N]) -> bool {
    row.get(2).is_some_and(|cell| match cell.parse::<f64>() {
        Ok(share) => share > 50.0,
        Err(_) => cell == "running" || cell == "preempted",
    })
}

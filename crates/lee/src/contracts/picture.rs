//! A contract as SVG: a layered drawing after Sugiyama, Tagawa and Toda (1981).
//!
//! States lie on every second layer, labels between them: each edge runs through a slot of its own
//! on every layer that it passes, and its label lies in the first, so that neither crosses a state
//! or another label. Edges that lead back up are reversed for this.

use super::{edges, titles, Edge};
use std::fmt::Write;
use typing::contracts::Contract;

/// Distances, in pixels.
const LAYER: f64 = 52.0;
const GAP: f64 = 24.0;
const MARGIN: f64 = 24.0;
const LETTER: f64 = 7.2;
const LINE: f64 = 15.0;
/// How often the order in the layers is improved.
const SWEEPS: usize = 8;

/// A slot on a layer: a state, or where an edge passes.
struct Slot {
    layer: usize,
    width: f64,
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// Where an edge runs: its slots from the upper end to the lower one, without the states.
struct Route {
    edge: usize,
    slots: Vec<usize>,
    /// The edge leads up.
    turned: bool,
}

pub(super) struct Drawing {
    pub states: Vec<Place>,
    pub labels: Vec<Place>,
    width: f64,
    height: f64,
    body: String,
}

/// A box around its centre.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The picture.
pub fn write(contract: &Contract) -> String {
    let drawing = draw(contract);
    let (width, height) = (drawing.width, drawing.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    let _ = writeln!(out, "<title>contract {}</title>", contract.name);
    for (id, colour) in [("out", OUT), ("in", IN)] {
        let _ = writeln!(
            out,
            "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 0L10 5L0 10z\" fill=\"{colour}\"/></marker>"
        );
    }
    out.push_str(&drawing.body);
    out.push_str("</svg>\n");
    out
}

const OUT: &str = "#1f5fa8";
const IN: &str = "#2e7d32";

pub(super) fn draw(contract: &Contract) -> Drawing {
    let (titles, edges) = (titles(contract), edges(contract));
    let ranks = ranks(contract, &edges);
    let mut slots: Vec<Slot> = vec![];
    for (n, state) in contract.states.iter().enumerate() {
        let title = titles.get(n).map_or(0, |t| t.chars().count());
        let own = if state.name.is_some() { title as f64 * LETTER + 24.0 } else { 14.0 };
        // A loop lies beside its state.
        let loops = edges.iter().filter(|e| e.from == n && e.to == n).map(|e| label_width(e) + 40.0).sum::<f64>();
        let layer = 2 * ranks.get(n).copied().unwrap_or(0);
        slots.push(Slot { layer, width: own + 2.0 * loops, x: 0.0, above: vec![], below: vec![] });
    }
    let mut routes = vec![];
    for (number, edge) in edges.iter().enumerate().filter(|(_, e)| e.from != e.to) {
        let rank = |n: usize| ranks.get(n).copied().unwrap_or(0);
        let turned = rank(edge.from) > rank(edge.to);
        let (upper, lower) = if turned { (edge.to, edge.from) } else { (edge.from, edge.to) };
        let layers = 2 * rank(upper) + 1..2 * rank(lower);
        let labelled = if turned { layers.end - 1 } else { layers.start };
        let mut route = Route { edge: number, slots: vec![], turned };
        let mut before = upper;
        for layer in layers {
            let width = if layer == labelled { label_width(edge) } else { 4.0 };
            let slot = slots.len();
            slots.push(Slot { layer, width, x: 0.0, above: vec![], below: vec![] });
            join(&mut slots, before, slot);
            route.slots.push(slot);
            before = slot;
        }
        join(&mut slots, before, lower);
        routes.push(route);
    }
    let mut layers: Vec<Vec<usize>> = vec![];
    for (n, slot) in slots.iter().enumerate() {
        layers.resize_with(layers.len().max(slot.layer + 1), Vec::new);
        if let Some(layer) = layers.get_mut(slot.layer) {
            layer.push(n);
        }
    }
    order(&mut layers, &slots);
    place(&layers, &mut slots);
    paint(contract, &titles, &edges, &routes, &slots, &layers)
}

fn join(slots: &mut [Slot], upper: usize, lower: usize) {
    if let Some(slot) = slots.get_mut(upper) {
        slot.below.push(lower);
    }
    if let Some(slot) = slots.get_mut(lower) {
        slot.above.push(upper);
    }
}

fn label_width(edge: &Edge) -> f64 {
    edge.labels.iter().map(|l| l.chars().count()).max().unwrap_or(0) as f64 * LETTER + 10.0
}

/// The layer of each state: as far below the start as the longest path that does not go back.
fn ranks(contract: &Contract, edges: &[Edge]) -> Vec<usize> {
    let count = contract.states.len();
    let next = |n: usize| edges.iter().enumerate().filter(move |(_, e)| e.from == n && e.to != n);
    // Depth first: an edge to a state that is still on the way leads back.
    let (mut colour, mut back) = (vec![0u8; count], vec![false; edges.len()]);
    let mut finished = vec![];
    for root in std::iter::once(contract.start.0 as usize).chain(0..count) {
        let mut stack = vec![(root, false)];
        while let Some((at, done)) = stack.pop() {
            if done {
                colour[at] = 2;
                finished.push(at);
                continue;
            }
            if colour.get(at).is_none_or(|c| *c != 0) {
                continue;
            }
            colour[at] = 1;
            stack.push((at, true));
            let ways: Vec<_> = next(at).map(|(_, e)| e.to).collect();
            stack.extend(ways.into_iter().rev().map(|to| (to, false)));
        }
    }
    let mut position = vec![0; count];
    for (n, &state) in finished.iter().rev().enumerate() {
        position[state] = n;
    }
    for (n, edge) in edges.iter().enumerate() {
        back[n] = position.get(edge.to) <= position.get(edge.from);
    }
    let mut ranks = vec![0usize; count];
    for &at in finished.iter().rev() {
        for (n, edge) in next(at) {
            if !back[n] {
                ranks[edge.to] = ranks[edge.to].max(ranks[at] + 1);
            }
        }
    }
    ranks
}

/// Sorts each layer by the mean place of the neighbours above, then below, and so on.
fn order(layers: &mut [Vec<usize>], slots: &[Slot]) {
    let mut place: Vec<f64> = vec![0.0; slots.len()];
    for layer in layers.iter() {
        layer.iter().enumerate().for_each(|(n, &slot)| place[slot] = n as f64);
    }
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let count = layers.len();
        for step in 0..count {
            let Some(layer) = layers.get_mut(if down { step } else { count - 1 - step }) else { continue };
            let wish = |slot: usize| {
                let neighbours = if down { &slots[slot].above } else { &slots[slot].below };
                match neighbours.is_empty() {
                    true => place[slot],
                    false => neighbours.iter().map(|&n| place[n]).sum::<f64>() / neighbours.len() as f64,
                }
            };
            let mut wishes: Vec<(f64, usize)> = layer.iter().map(|&slot| (wish(slot), slot)).collect();
            wishes.sort_by(|a, b| a.0.total_cmp(&b.0));
            *layer = wishes.into_iter().map(|(_, slot)| slot).collect();
            layer.iter().enumerate().for_each(|(n, &slot)| place[slot] = n as f64);
        }
    }
}

/// Gives each slot its x: near its neighbours, and after the one before it in its layer.
fn place(layers: &[Vec<usize>], slots: &mut [Slot]) {
    for layer in layers {
        let mut x = 0.0;
        for &slot in layer {
            slots[slot].x = x + slots[slot].width / 2.0;
            x += slots[slot].width + GAP;
        }
    }
    for sweep in 0..SWEEPS * 2 {
        for step in 0..layers.len() {
            let layer = &layers[if sweep % 2 == 0 { step } else { layers.len() - 1 - step }];
            let wishes: Vec<f64> = layer
                .iter()
                .map(|&slot| {
                    let near: Vec<f64> =
                        slots[slot].above.iter().chain(&slots[slot].below).map(|&n| slots[n].x).collect();
                    if near.is_empty() {
                        slots[slot].x
                    } else {
                        near.iter().sum::<f64>() / near.len() as f64
                    }
                })
                .collect();
            // Left to right pushes to the right, right to left to the left; the mean of both keeps
            // the distances.
            let (mut right, mut left) = (wishes.clone(), wishes);
            let apart = |a: usize, b: usize| (slots[layer[a]].width + slots[layer[b]].width) / 2.0 + GAP;
            for n in 1..layer.len() {
                right[n] = right[n].max(right[n - 1] + apart(n - 1, n));
            }
            for n in (1..layer.len()).rev() {
                left[n - 1] = left[n - 1].min(left[n] - apart(n - 1, n));
            }
            for (n, &slot) in layer.iter().enumerate() {
                slots[slot].x = (right[n] + left[n]) / 2.0;
            }
        }
    }
    let first = slots.iter().map(|s| s.x - s.width / 2.0).fold(f64::INFINITY, f64::min);
    slots.iter_mut().for_each(|s| s.x += MARGIN - first);
}

fn paint(
    contract: &Contract,
    titles: &[String],
    edges: &[Edge],
    routes: &[Route],
    slots: &[Slot],
    layers: &[Vec<usize>],
) -> Drawing {
    let tallest = |layer: &Vec<usize>, n: usize| match n % 2 {
        0 => LAYER,
        _ => {
            let lines = routes.iter().filter(|r| r.slots.iter().any(|s| layer.contains(s)));
            lines.map(|r| edges[r.edge].labels.len()).max().unwrap_or(1) as f64 * LINE + 22.0
        }
    };
    let mut tops = vec![MARGIN + 20.0];
    for (n, layer) in layers.iter().enumerate() {
        let top = tops.last().copied().unwrap_or(0.0);
        tops.push(top + tallest(layer, n));
    }
    let middle = |layer: usize| (tops[layer] + tops[layer + 1]) / 2.0;
    let mut drawing = Drawing {
        states: vec![],
        labels: vec![],
        width: slots.iter().map(|s| s.x + s.width / 2.0).fold(0.0, f64::max) + MARGIN,
        height: tops.last().copied().unwrap_or(0.0) + MARGIN,
        body: String::new(),
    };
    let boxes: Vec<Place> = contract
        .states
        .iter()
        .zip(titles)
        .zip(slots)
        .map(|((state, title), slot)| {
            let width = if state.name.is_some() { title.chars().count() as f64 * LETTER + 24.0 } else { 14.0 };
            let height = if state.name.is_some() { 28.0 } else { 14.0 };
            Place { x: slot.x, y: middle(slot.layer), width, height }
        })
        .collect();
    for route in routes {
        draw_route(&mut drawing, route, edges, slots, &boxes, &middle);
    }
    for edge in edges.iter().filter(|e| e.from == e.to) {
        draw_loop(&mut drawing, edge, &boxes);
    }
    if let Some(start) = boxes.get(contract.start.0 as usize) {
        let (x, y) = (start.x, start.y - start.height / 2.0);
        let _ = writeln!(
            drawing.body,
            "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"/><path d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"black\" fill=\"none\"/>",
            y - 22.0,
            y - 22.0,
            y
        );
    }
    for ((state, title), at) in contract.states.iter().zip(titles).zip(&boxes) {
        let (left, top) = (at.x - at.width / 2.0, at.y - at.height / 2.0);
        if state.name.is_none() {
            let _ = writeln!(
                drawing.body,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"7\" fill=\"white\" stroke=\"black\"><title>{title}</title></circle>",
                at.x, at.y
            );
        } else {
            let double = if state.sender.is_none() { 3 } else { 0 };
            for inset in [0, double].iter().take(1 + usize::from(double > 0)) {
                let inset = f64::from(*inset);
                let _ = writeln!(
                    drawing.body,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"7\" fill=\"white\" stroke=\"black\"/>",
                    left + inset,
                    top + inset,
                    at.width - 2.0 * inset,
                    at.height - 2.0 * inset
                );
            }
            let _ = writeln!(
                drawing.body,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{title}</text>",
                at.x,
                at.y + 4.0
            );
        }
    }
    drawing.states = boxes;
    drawing
}

fn draw_route(
    drawing: &mut Drawing,
    route: &Route,
    edges: &[Edge],
    slots: &[Slot],
    boxes: &[Place],
    middle: &dyn Fn(usize) -> f64,
) {
    let edge = &edges[route.edge];
    let (Some(from), Some(to)) = (boxes.get(edge.from), boxes.get(edge.to)) else { return };
    let mut points: Vec<(f64, f64)> = route.slots.iter().map(|&s| (slots[s].x, middle(slots[s].layer))).collect();
    if route.turned {
        points.reverse();
    }
    let down = if route.turned { -1.0 } else { 1.0 };
    points.insert(0, (from.x, from.y + down * from.height / 2.0));
    points.push((to.x, to.y - down * to.height / 2.0));
    let mut path = String::new();
    let mut last = (0.0, 0.0);
    for (n, &(x, y)) in points.iter().enumerate() {
        // Curves leave and meet each slot vertically.
        let bend = (y - last.1) / 2.0;
        let _ = match n {
            0 => write!(path, "M{x:.1} {y:.1}"),
            _ => write!(path, "C{:.1} {:.1} {x:.1} {:.1} {x:.1} {y:.1}", last.0, last.1 + bend, y - bend),
        };
        last = (x, y);
    }
    stroke(drawing, edge, &path);
    if let Some(&(x, y)) = points.get(1) {
        label(drawing, edge, x, y);
    }
}

fn draw_loop(drawing: &mut Drawing, edge: &Edge, boxes: &[Place]) {
    let Some(at) = boxes.get(edge.from) else { return };
    let (x, y) = (at.x + at.width / 2.0, at.y);
    let path = format!(
        "M{x:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {x:.1} {:.1}",
        y - 6.0,
        x + 32.0,
        y - 18.0,
        x + 32.0,
        y + 18.0,
        y + 6.0
    );
    stroke(drawing, edge, &path);
    label(drawing, edge, x + 30.0 + label_width(edge) / 2.0, y);
}

fn stroke(drawing: &mut Drawing, edge: &Edge, path: &str) {
    let (colour, marker, dashes) = if edge.out { (OUT, "out", "") } else { (IN, "in", " stroke-dasharray=\"5 3\"") };
    let _ = writeln!(
        drawing.body,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\"{dashes} marker-end=\"url(#{marker})\"/>"
    );
}

fn label(drawing: &mut Drawing, edge: &Edge, x: f64, y: f64) {
    let (width, height) = (label_width(edge), edge.labels.len() as f64 * LINE);
    let colour = if edge.out { OUT } else { IN };
    let _ = writeln!(
        drawing.body,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"white\"/>",
        x - width / 2.0,
        y - height / 2.0
    );
    for (n, text) in edge.labels.iter().enumerate() {
        let line = y - height / 2.0 + (n as f64 + 0.75) * LINE;
        let _ = writeln!(
            drawing.body,
            "<text x=\"{x:.1}\" y=\"{line:.1}\" text-anchor=\"middle\" fill=\"{colour}\">{text}</text>"
        );
    }
    drawing.labels.push(Place { x, y, width, height });
}

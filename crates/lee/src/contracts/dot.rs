//! A contract for Graphviz.

use super::{edges, titles};
use std::fmt::Write;
use typing::contracts::Contract;

/// A directed graph: boxes are the named states, dots those inside chains, double frames the ends
/// of conversations.
pub fn write(contract: &Contract) -> String {
    let mut out = format!("digraph \"{}\" {{\n", contract.name);
    out.push_str("  node [fontname=\"sans-serif\" fontsize=12];\n  edge [fontname=\"sans-serif\" fontsize=11];\n");
    out.push_str("  begin [shape=point label=\"\"];\n");
    let titles = titles(contract);
    for (n, (state, title)) in contract.states.iter().zip(&titles).enumerate() {
        let look = match (state.name, state.sender) {
            (None, _) => format!("shape=circle width=0.15 label=\"\" tooltip=\"{title}\""),
            (Some(_), None) => format!("shape=box peripheries=2 label=\"{title}\""),
            (Some(_), Some(_)) => format!("shape=box style=rounded label=\"{title}\""),
        };
        let _ = writeln!(out, "  s{n} [{look}];");
    }
    let _ = writeln!(out, "  begin -> s{};", contract.start.0);
    for edge in edges(contract) {
        let style = if edge.out {
            "color=\"#1f5fa8\" fontcolor=\"#1f5fa8\""
        } else {
            "color=\"#2e7d32\" fontcolor=\"#2e7d32\" style=dashed"
        };
        let _ = writeln!(out, "  s{} -> s{} [label=\"{}\" {style}];", edge.from, edge.to, edge.labels.join("\\n"));
    }
    out.push_str("}\n");
    out
}

//! The call graph over all units, and which functions may call themselves.

use crate::verdict::key;
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// The call graph, by key of functions.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    /// Who calls whom.
    pub calls: FxHashMap<String, FxHashSet<String>>,
    /// Functions whose address is taken: anybody may call them.
    pub addressed: FxHashSet<String>,
}

impl Edges {
    /// Functions that no other function calls.
    pub fn uncalled(&self) -> FxHashSet<String> {
        let others = |caller: &String, f: &&String| *f != caller;
        let called: FxHashSet<&String> =
            self.calls.iter().flat_map(|(caller, all)| all.iter().filter(move |f| others(caller, f))).collect();
        self.calls.keys().filter(|f| !called.contains(f)).cloned().collect()
    }
}

/// Adds the calls of a unit.
pub fn collect(program: &Program, unit: usize, edges: &mut Edges) {
    for body in &program.bodies {
        let caller = key(program, unit, &body.func);
        let callees = edges.calls.entry(caller).or_default();
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            if let Some(f) = stmt.kind.called() {
                callees.insert(key(program, unit, f));
            }
        }
        for_each_address(body, &mut |f| {
            edges.addressed.insert(key(program, unit, f));
        });
    }
    for global in &program.globals {
        global.init.iter().for_each(|init| {
            init.each_function(&mut |f| {
                edges.addressed.insert(key(program, unit, f));
            });
        });
    }
}

/// Functions used as values in a body.
fn for_each_address(body: &Body, see: &mut dyn FnMut(&typing::tree::FuncRef)) {
    let mut operand = |o: &Operand| {
        if let Operand::Const(Const::Func(f)) = o {
            see(f);
        }
    };
    for block in &body.blocks {
        for stmt in &block.stmts {
            mir::effects::parts(&stmt.kind, &mut |part| {
                if let mir::effects::Part::Operand(o, _) = part {
                    operand(o);
                }
            });
        }
        if let Some(o) = block.term.kind.returned() {
            operand(o);
        }
    }
}

/// The functions on a cycle of direct calls.
pub fn recursive(edges: &Edges) -> FxHashSet<String> {
    let mut names: Vec<&String> = edges.calls.keys().collect();
    names.sort_unstable();
    let numbers: FxHashMap<&String, usize> = names.iter().enumerate().map(|(n, name)| (*name, n)).collect();
    let next: Vec<Vec<usize>> = names
        .iter()
        .map(|name| edges.calls.get(*name).into_iter().flatten().filter_map(|c| numbers.get(c).copied()).collect())
        .collect();
    let cycles = groups(&next).into_iter().filter(|group| is_cycle(&next, group));
    cycles.flatten().filter_map(|n| names.get(n)).map(|n| (*n).clone()).collect()
}

/// Whether the members of a group may call themselves.
pub fn is_cycle(next: &[Vec<usize>], group: &[usize]) -> bool {
    group.len() > 1 || group.iter().any(|n| next.get(*n).is_some_and(|callees| callees.contains(n)))
}

/// The strongly connected components of a graph, each after all that it leads to (Tarjan,
/// "Depth-first search and linear graph algorithms"). `next`: the successors of each node.
pub fn groups(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut found = vec![];
    let mut index = vec![usize::MAX; next.len()];
    let mut low = vec![0; next.len()];
    let mut on_stack = vec![false; next.len()];
    let (mut stack, mut counter) = (vec![], 0);
    for root in 0..next.len() {
        if index.get(root) != Some(&usize::MAX) {
            continue;
        }
        let mut work = vec![(root, 0usize)];
        while let Some(&(node, at)) = work.last() {
            if at == 0 {
                set(&mut index, node, counter);
                set(&mut low, node, counter);
                set(&mut on_stack, node, true);
                counter += 1;
                stack.push(node);
            }
            let successor = next.get(node).and_then(|n| n.get(at)).copied();
            if let Some(last) = work.last_mut() {
                last.1 += 1;
            }
            match successor {
                Some(to) if get(&index, to) == usize::MAX => work.push((to, 0)),
                Some(to) => {
                    if on_stack.get(to) == Some(&true) {
                        let least = get(&low, node).min(get(&index, to));
                        set(&mut low, node, least);
                    }
                }
                None => {
                    work.pop();
                    if let Some(&(parent, _)) = work.last() {
                        let least = get(&low, parent).min(get(&low, node));
                        set(&mut low, parent, least);
                    }
                    if get(&low, node) == get(&index, node) {
                        let mut group = vec![];
                        while let Some(member) = stack.pop() {
                            set(&mut on_stack, member, false);
                            group.push(member);
                            if member == node {
                                break;
                            }
                        }
                        found.push(group);
                    }
                }
            }
        }
    }
    found
}

/// The functions that a call through a pointer may get to: those whose address is taken, and all
/// that they call.
pub fn reached(edges: &Edges) -> FxHashSet<String> {
    let mut found: FxHashSet<String> = FxHashSet::default();
    let mut work: Vec<&String> = edges.addressed.iter().collect();
    while let Some(name) = work.pop() {
        if found.insert(name.clone()) {
            work.extend(edges.calls.get(name).into_iter().flatten());
        }
    }
    found
}

fn set<T>(all: &mut [T], at: usize, value: T) {
    if let Some(slot) = all.get_mut(at) {
        *slot = value;
    }
}

fn get(all: &[usize], at: usize) -> usize {
    all.get(at).copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_and_chains_are_not() {
        let mut edges = Edges::default();
        let mut call = |a: &str, b: &str| {
            edges.calls.entry(b.to_string()).or_default();
            edges.calls.entry(a.to_string()).or_default().insert(b.to_string());
        };
        call("main", "a");
        call("a", "b");
        call("b", "c");
        call("c", "a");
        call("c", "d");
        call("e", "e");
        let mut found: Vec<String> = recursive(&edges).into_iter().collect();
        found.sort();
        assert_eq!(found, ["a", "b", "c", "e"]);
    }

    #[test]
    fn what_an_address_leads_to_is_reached() {
        let mut edges = Edges::default();
        edges.calls.entry("handler".into()).or_default().insert("a".into());
        edges.calls.entry("a".into()).or_default().insert("b".into());
        edges.calls.entry("main".into()).or_default().insert("c".into());
        edges.addressed.insert("handler".into());
        let mut found: Vec<String> = reached(&edges).into_iter().collect();
        found.sort();
        assert_eq!(found, ["a", "b", "handler"]);
    }
}

//! Contracts and statements about channels as text.

use super::expression::expr;
use super::types::param_list;
use super::Printer;
use crate::ast::*;

impl Printer {
    pub(super) fn contract(&mut self, contract: &ContractDef) {
        let local = if contract.local { "local " } else { "" };
        let extends = contract.extends.map_or(String::new(), |base| format!(" extends {}", base.name));
        self.line(format!("{local}contract {}{extends}", contract.name.name));
        self.nested(|p| {
            for message in &contract.messages {
                let direction = match message.direction {
                    Some(Direction::In) => "in ",
                    Some(Direction::Out) => "out ",
                    None => "",
                };
                p.line(format!("{direction}message {}({})", message.name.name, param_list(&message.params)));
            }
            for state in &contract.states {
                p.line(format!("state {}", state.name.name));
                p.nested(|p| state.chains.iter().for_each(|c| p.line(chain(c))));
            }
        });
    }

    /// Whether it is a statement about channels; then it is printed.
    pub(super) fn channel_stmt(&mut self, kind: &StmtKind) -> bool {
        match kind {
            StmtKind::Channel { contract, state, importer, exporter } => {
                let state = state.map_or(String::new(), |s| format!(":{}", s.name));
                self.line(format!("channel {}{state} {} {}", contract.name, importer.name, exporter.name));
            }
            StmtKind::Send(end, message, args) => {
                let args: String = args.iter().map(|a| format!(" {}", expr(a))).collect();
                self.line(format!("send {} {}{args}", expr(end), message.name));
            }
            StmtKind::Receive(pattern) => self.line(format!("receive {}", self::pattern(pattern))),
            StmtKind::SwitchReceive(_, cases) => {
                self.line("switch receive");
                self.nested(|p| {
                    for case in cases {
                        p.line(match &case.label {
                            ReceiveLabel::Messages(patterns) => {
                                let patterns: Vec<String> = patterns.iter().map(pattern).collect();
                                format!("case {}", patterns.join(" && "))
                            }
                            ReceiveLabel::After(time) => format!("case after {}", expr(time)),
                            ReceiveLabel::Default => "default".to_string(),
                        });
                        p.nested(|p| p.block(&case.body));
                    }
                });
            }
            StmtKind::SwitchState(end, body) => {
                self.line(format!("switch state {}", expr(end)));
                self.body(body);
            }
            _ => return false,
        }
        true
    }
}

fn chain(chain: &Chain) -> String {
    let steps: Vec<String> = chain.steps.iter().map(step).collect();
    steps.join(" -> ")
}

fn step(step: &Step) -> String {
    match step {
        Step::Name(name, sign) => {
            let sign = match sign {
                Some(Direction::Out) => "!",
                Some(Direction::In) => "?",
                None => "",
            };
            format!("{}{sign}", name.name)
        }
        Step::Choice(chains, _) => {
            let chains: Vec<String> = chains.iter().map(chain).collect();
            format!("({})", chains.join(" | "))
        }
    }
}

fn pattern(pattern: &Pattern) -> String {
    let source = match &pattern.source {
        PatternSource::Endpoint(end) => expr(end),
        PatternSource::Member(name, None, set) => format!("({} in {})", name.name, expr(set)),
        PatternSource::Member(name, Some(value), set) => format!("({}, {} in {})", name.name, value.name, expr(set)),
    };
    let names: String = pattern.names.iter().map(|n| format!(" {}", n.name)).collect();
    format!("{source} {}{names}", pattern.message.name)
}

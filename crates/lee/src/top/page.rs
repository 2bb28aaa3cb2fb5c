//! `lee top --page`: a page for a browser, and the answer that it asks for each second.

use super::json;
use super::why;
use super::Asked;
use crate::failure::{reason, Failure, Outcome};
use crate::report;
use std::net::{Ipv4Addr, SocketAddr};
use tiny_http::{Header, Method, Request, Response, Server};

/// Pictures, style and script in one file, which needs nothing else.
const PAGE: &str = include_str!("page.html");

/// Serves on the loopback address until an interrupt; `port` 0: one that is free.
pub fn serve(asked: &mut Asked, port: u16) -> Outcome<i32> {
    asked.ask()?;
    let failed = |why: &str| Failure::error(format!("cannot serve the page on port {port}: {why}"));
    let server = Server::http(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .map_err(|error| failed(&error.downcast_ref::<std::io::Error>().map_or_else(|| error.to_string(), reason)))?;
    let bound = server.server_addr().to_ip().map_or(port, |address| address.port());
    report::output(&format!("http://127.0.0.1:{bound}/\n"))?;
    for request in server.incoming_requests() {
        let response = respond(asked, &request, bound);
        // The browser may have left.
        let _ = request.respond(response);
    }
    Ok(0)
}

type Text = Response<std::io::Cursor<Vec<u8>>>;

fn respond(asked: &mut Asked, request: &Request, port: u16) -> Text {
    if !is_for_us(request, port) {
        return text(403, "text/plain", "ask 127.0.0.1 or localhost\n");
    }
    if *request.method() != Method::Get {
        return text(405, "text/plain", "only GET\n");
    }
    let failed = |failure: &Failure| text(503, "text/plain; charset=utf-8", &failure.to_string());
    if let Some(id) = request.url().strip_prefix("/why.json?id=") {
        return match why::Id::parse(id).map(|id| (id, why::ask(asked, id))) {
            Some((id, Ok((why, rows)))) => text(200, "application/json", &why::json(id, &why, &rows)),
            Some((_, Err(failure))) => failed(&failure),
            None => text(400, "text/plain", "ask for c12 or p7\n"),
        };
    }
    match request.url() {
        "/" => text(200, "text/html; charset=utf-8", PAGE),
        "/top.json" => match asked.ask() {
            Ok(answer) => text(200, "application/json", &json::write(&answer)),
            Err(failure) => failed(&failure),
        },
        _ => text(404, "text/plain", "no such page\n"),
    }
}

/// A page of another site, whose name leads here, must not read what the program does.
fn is_for_us(request: &Request, port: u16) -> bool {
    let host = request.headers().iter().find(|header| header.field.equiv("Host")).map(|header| header.value.as_str());
    host.is_some_and(|host| [format!("127.0.0.1:{port}"), format!("localhost:{port}")].iter().any(|own| own == host))
}

fn text(status: u16, kind: &str, body: &str) -> Text {
    let headers = [("Content-Type", kind), ("Cache-Control", "no-store")];
    headers.iter().fold(Response::from_string(body).with_status_code(status), |response, (name, value)| {
        match Header::from_bytes(*name, *value) {
            Ok(header) => response.with_header(header),
            Err(()) => response,
        }
    })
}

//! What alerts say of a request and its response.

use super::body::Body;
use super::head::{Head, unfolded};
use super::{HttpRecord, Request};
use crate::direction::Direction;
use crate::message::transaction::readable;
use crate::message::{Transaction, TransactionRecord};

impl HttpRecord {
    /// What a request says.
    pub(super) fn of_request(head: &Head) -> HttpRecord {
        let text = |bytes: &[u8]| (!bytes.is_empty()).then(|| readable(bytes));
        let field = |name| {
            let value: Vec<u8> = unfolded(head.field(name)?).copied().collect();
            text(&value)
        };
        let mut hostname = Vec::new();
        head.write_host(&mut hostname);
        HttpRecord {
            hostname: text(&hostname),
            http_port: head.port(),
            url: text(head.target()),
            http_user_agent: field("user-agent"),
            xff: field("x-forwarded-for"),
            http_refer: field("referer"),
            http_method: text(head.method()),
            protocol: text(head.version(Direction::ToServer)),
            ..HttpRecord::default()
        }
    }

    /// Adds what the response says.
    pub(super) fn add_answer(&mut self, head: &Head, body: &Body) {
        let field = |name| {
            let value: Vec<u8> = unfolded(head.field(name)?).copied().collect();
            Some(readable(&value))
        };
        let redirects = head.status().is_some_and(|status| status / 100 == 3);
        self.status = head.status();
        self.http_content_type = field("content-type").map(without_parameters);
        self.redirect = field("location").filter(|_| redirects);
        self.length = body.sent_bytes();
    }

    /// Bytes of the texts.
    pub(super) fn text_bytes(&self) -> usize {
        let texts = [
            &self.hostname,
            &self.url,
            &self.http_user_agent,
            &self.xff,
            &self.http_content_type,
            &self.redirect,
            &self.http_refer,
            &self.http_method,
            &self.protocol,
        ];
        texts.into_iter().flatten().map(String::len).sum()
    }
}

impl Request {
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Request>() + self.record.text_bytes()
    }

    /// The exchange, with what came of the response if that goes on.
    pub(super) fn transaction(&self, answer: Option<(&Head, &Body)>) -> Transaction {
        let mut record = self.record.clone();
        if let Some((head, body)) = answer {
            record.add_answer(head, body);
        }
        Transaction {
            number: self.number,
            is_guessed: false,
            record: TransactionRecord::Http(record),
        }
    }
}

/// A type of content (RFC 9110, section 8.3.1) without what follows it.
fn without_parameters(mut text: String) -> String {
    text.truncate(text.find(';').unwrap_or(text.len()));
    text
}

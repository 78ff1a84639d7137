//! Classes of rules: what `classtype` stands for, and how urgent it is.

use std::collections::HashMap;
use std::sync::Arc;

/// The classes of Suricata and Snort 2.9.
const STANDARD: &str = include_str!("classification.config");

/// Priority of a rule without priority and without a known class.
const DEFAULT_PRIORITY: u8 = 3;

/// Category of a rule with an unknown class, as Suricata names it.
const UNKNOWN_CATEGORY: &str = "Unknown Classtype";

/// What classes of rules stand for: their category, and how urgent they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// By name in lower case.
    classes: HashMap<Box<str>, Class>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Class {
    category: Arc<str>,
    priority: u8,
}

/// A line of `classification.config` that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} is not of the form `config classification: name,category,priority`, as in \
     `config classification: bad-unknown,Potentially Bad Traffic,2`, with a priority from 1 to 255"
)]
pub struct ClassificationError {
    /// Its number, from 1.
    pub line: usize,
}

impl Default for Classification {
    /// Those of Suricata's `classification.config`, and four more of Snort's.
    fn default() -> Classification {
        // A test reads it.
        Classification::parse(STANDARD.as_bytes()).unwrap_or(Classification {
            classes: HashMap::new(),
        })
    }
}

impl Classification {
    /// Reads a `classification.config`: all classes that there are. Where two have a name, the
    /// first counts.
    ///
    /// # Errors
    /// The first line that is neither a class, nor a comment, nor empty.
    pub fn parse(text: &[u8]) -> Result<Classification, ClassificationError> {
        let mut classes = HashMap::new();
        for (line, bytes) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let bytes = bytes.trim_ascii();
            if bytes.is_empty() || bytes.starts_with(b"#") {
                continue;
            }
            let (name, class) = class(bytes).ok_or(ClassificationError { line })?;
            classes.entry(name).or_insert(class);
        }
        Ok(Classification { classes })
    }

    /// Whether a class is known, whatever the case of its letters.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Category and priority of a rule with this class.
    pub(crate) fn of_rule(&self, name: Option<&str>) -> (Arc<str>, u8) {
        match name.map(|name| self.find(name)) {
            Some(Some(class)) => (Arc::clone(&class.category), class.priority),
            Some(None) => (UNKNOWN_CATEGORY.into(), DEFAULT_PRIORITY),
            None => ("".into(), DEFAULT_PRIORITY),
        }
    }

    fn find(&self, name: &str) -> Option<&Class> {
        self.classes.get(&*name.to_ascii_lowercase())
    }
}

/// Name and class of a line.
fn class(line: &[u8]) -> Option<(Box<str>, Class)> {
    let line = String::from_utf8_lossy(line);
    let after = |text: &'_ str, word| Some(text.strip_prefix(word)?.trim_start().to_owned());
    let rest = after(&line, "config")?;
    let rest = after(&after(&rest, "classification")?, ":")?;
    let (name, rest) = rest.split_once(',')?;
    let (category, priority) = rest.rsplit_once(',')?;
    let (name, category) = (name.trim(), category.trim());
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.bytes().all(is_name) || name.is_empty() || category.is_empty() {
        return None;
    }
    let priority = priority.trim().parse().ok().filter(|n| *n > 0)?;
    let class = Class {
        category: category.into(),
        priority,
    };
    Some((name.to_ascii_lowercase().into(), class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_classes_are_read() {
        let standard = Classification::parse(STANDARD.as_bytes()).expect("each line");
        assert_eq!(standard.classes.len(), 47);
        assert_eq!(standard, Classification::default());
        let (category, priority) = standard.of_rule(Some("Trojan-Activity"));
        assert_eq!((&*category, priority), ("A Network Trojan was detected", 1));
        let (category, priority) = standard.of_rule(Some("nonsense"));
        assert_eq!((&*category, priority), ("Unknown Classtype", 3));
        let (category, priority) = standard.of_rule(None);
        assert_eq!((&*category, priority), ("", 3));
    }

    #[test]
    fn lines_are_read_as_suricata_reads_them() {
        let text = b"# comment\r\n\n config classification : Own_class , Text, with comma , 12\r\n\
                     config classification:own_class,second,1\n";
        let read = Classification::parse(text).expect("read");
        let (category, priority) = read.of_rule(Some("own_class"));
        assert_eq!((&*category, priority), ("Text, with comma", 12));
        assert!(!read.has("trojan-activity"));
        for line in [
            "config classification: a,b",
            "config classification: a,b,c",
            "config classification: a,b,0",
            "config classification: a,b,256",
            "config classification: ,b,1",
            "config classification: a,,1",
            "config classification: a b,c,1",
            "classification: a,b,1",
            "config reference: a http://",
            "alert tcp any any -> any any (sid:1;)",
        ] {
            let text = format!("config classification: x,y,1\n{line}\n");
            let error = Classification::parse(text.as_bytes());
            assert_eq!(error, Err(ClassificationError { line: 2 }), "{line}");
        }
    }
}

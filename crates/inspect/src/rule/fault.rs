//! What can be wrong with a rule, and where.

use std::fmt;
use std::sync::Arc;

use weir_select::SetError;

/// Why a rule was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The rule is in order, but requires something that this engine does not
    /// have.
    #[error("not supported: {0}")]
    Unsupported(Unsupported),
    /// The text is not a rule.
    #[error("{0}")]
    Syntax(&'static str),
    /// A number that is none, or out of range.
    #[error("expected a number from {least} to {most}")]
    Number {
        /// Smallest value that is understood.
        least: i64,
        /// Largest value that is understood.
        most: i64,
    },
    /// An address or port list that cannot be read.
    #[error("{0}")]
    Set(#[from] SetError),
    /// A variable without a value.
    #[error("the variable has no value: give it one with --set {0}=…")]
    UndefinedVariable(String),
    /// A variable whose value leads back to itself.
    #[error("the value of the variable {0} contains itself")]
    CircularVariable(String),
    /// A list that is too long once its variables are filled in.
    #[error(
        "the list is longer than {} bytes when its variables are filled in",
        super::variables::MAX_LIST_BYTES
    )]
    LongList,
    /// A pattern that is not a regular expression.
    #[error("not a regular expression: {0}")]
    Pattern(String),
}

/// What a rule may require that this engine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// A rule option, as in `keyword base64_data`.
    #[error("keyword {0}")]
    Keyword(String),
    /// A rule action, as in `action log`.
    #[error("action {0}")]
    Action(String),
    /// A protocol in the rule's header, as in `protocol dcerpc`.
    #[error("protocol {0}")]
    Protocol(String),
    /// A word of the `flow` option, as in `flow only_frag`.
    #[error("flow {0}")]
    Flow(String),
    /// A part of a regular expression, as in `pcre: recursion`.
    #[error("pcre: {0}")]
    Pcre(String),
}

impl FaultKind {
    /// Whether the rule itself is in order.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, FaultKind::Unsupported(_))
    }

    /// The reason under which skipped rules are counted.
    pub fn reason(&self) -> String {
        match self {
            FaultKind::Unsupported(what) => what.to_string(),
            FaultKind::Set(SetError::Nothing { .. }) => {
                "address or port list matches nothing".to_owned()
            }
            FaultKind::UndefinedVariable(name) => format!("variable {name} has no value"),
            FaultKind::CircularVariable(name) => format!("variable {name} contains itself"),
            FaultKind::LongList => "address or port list too long".to_owned(),
            FaultKind::Pattern(_) => "pcre: not a regular expression".to_owned(),
            FaultKind::Syntax(_) | FaultKind::Number { .. } | FaultKind::Set(_) => {
                "syntax".to_owned()
            }
        }
    }
}

/// A fault while its rule is read: the place counts bytes from the start of
/// the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) word: String,
    pub(crate) kind: FaultKind,
}

/// Longest part of a word that an error repeats, in characters.
const WORD_CHARS: usize = 60;

impl Fault {
    pub(crate) fn new(offset: usize, word: &[u8], kind: FaultKind) -> Fault {
        Fault {
            offset,
            word: printable(word),
            kind,
        }
    }

    pub(crate) fn syntax(offset: usize, word: &[u8], message: &'static str) -> Fault {
        Fault::new(offset, word, FaultKind::Syntax(message))
    }

    pub(crate) fn unsupported(offset: usize, word: &[u8], what: Unsupported) -> Fault {
        Fault::new(offset, word, FaultKind::Unsupported(what))
    }
}

/// A word of a rule as it can be shown on a terminal, cut to a bearable
/// length.
pub(crate) fn printable(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(word);
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.trim().chars().take(WORD_CHARS).map(shown).collect();
    if text.trim().chars().count() > WORD_CHARS {
        short.push('…');
    }
    short
}

/// A rule that was not loaded: what, where, and the word at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFault {
    /// Name of the file, as it was given.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The word at fault, cut to sixty characters.
    pub word: String,
    /// What is wrong.
    pub kind: FaultKind,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleFault {
            file,
            line,
            column,
            word,
            kind,
        } = self;
        let what = kind.to_string();
        write!(f, "{file}:{line}:{column}: {what}")?;
        // Some faults name the word where they say what it is not.
        if what.contains(word.as_str()) {
            Ok(())
        } else {
            write!(f, ": {word:?}")
        }
    }
}

impl std::error::Error for RuleFault {}

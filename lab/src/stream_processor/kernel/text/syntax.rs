//! The syntax of a text: tokens to declarations, functions and statements.

use super::lexer::Token;
use super::{At, TextError};

/// Parentheses, brackets and loops that may be open at once.
const MOST_DEPTH: usize = 64;

/// A whole text.
pub(super) struct Text {
    pub name: String,
    pub items: Vec<(Item, At)>,
}

/// What may stand outside of functions and loops.
pub(super) enum Item {
    Input {
        name: String,
        record_words: u32,
    },
    Output {
        name: String,
        record_words: u32,
    },
    /// `unit` is none where all scratchpads have the array.
    Array {
        name: String,
        words: u32,
        unit: Option<u32>,
    },
    Indexed(String),
    Scalar(String),
    Constant {
        name: String,
        number: u32,
    },
    Function(Function),
    Statement(Statement),
}

/// A function, whose calls are replaced by its body.
pub(super) struct Function {
    pub name: String,
    pub parameters: Vec<String>,
    pub body: Vec<(Statement, At)>,
    pub result: Expression,
}

pub(super) enum Statement {
    /// Several names take a word each; one takes all.
    Assign {
        names: Vec<(String, At)>,
        value: Expression,
    },
    /// `name[index] = value`
    Store {
        name: String,
        access: Access,
        index: Expression,
        value: Expression,
    },
    /// Words of a record from `first` on; the whole record if there is none.
    Write {
        stream: String,
        first: Option<u32>,
        value: Expression,
    },
    Loop(Box<Loop>),
}

/// What an index is meant of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// `name[index]`: a word of an array or an indexed stream.
    Word,
    /// `name.row[index]`: a word of a cluster's lane of an indexed stream.
    Row,
    /// `name.bit[index]`: a bit of an array.
    Bit,
}

pub(super) struct Loop {
    pub trip: Trip,
    pub unroll: u32,
    pub is_pipelined: bool,
    pub label: Option<String>,
    pub body: Vec<(Statement, At)>,
}

pub(super) enum Trip {
    Over { stream: String, per_iteration: u32 },
    Times(u32),
    Scalar(String),
}

pub(super) struct Expression {
    pub at: At,
    pub form: Form,
}

pub(super) enum Form {
    Number(u32),
    Name(String),
    /// `list.place`
    Place {
        list: Box<Expression>,
        place: u32,
    },
    /// `name[index]`
    Load {
        name: String,
        access: Access,
        index: Box<Expression>,
    },
    /// Words of the next record; all if there is no range.
    Read {
        stream: String,
        words: Option<[u32; 2]>,
    },
    Call {
        function: String,
        arguments: Vec<Expression>,
    },
    Operation {
        sign: &'static str,
        left: Box<Expression>,
        right: Box<Expression>,
    },
    /// The words of all parts.
    List(Vec<Expression>),
}

/// Operators in a statement: expressions are walked by recursion.
const MOST_OPERATORS: usize = 1000;

/// Words that are no names.
const RESERVED: [&str; 16] = [
    "constant",
    "kernel",
    "input",
    "output",
    "array",
    "indexed",
    "scalar",
    "function",
    "return",
    "loop",
    "over",
    "read",
    "write",
    "unroll",
    "pipelined",
    "called",
];

/// Operators of expressions, those that bind least first.
const OPERATORS: [&[&str]; 7] = [
    &["<", "=="],
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*"],
];

/// The parts of a text.
pub(super) fn parse(tokens: Vec<(Token, At)>) -> Result<Text, TextError> {
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
        operators: 0,
    };
    parser.text()
}

struct Parser {
    /// The last one is the end of the text.
    tokens: Vec<(Token, At)>,
    next: usize,
    depth: usize,
    /// Of the statement that is being read.
    operators: usize,
}

impl Parser {
    fn text(&mut self) -> Result<Text, TextError> {
        let at = self.at();
        if !self.take_word("kernel") {
            return Err(at.wrong("a text begins with: kernel NAME"));
        }
        let name = self.name()?;
        self.line()?;
        let mut items = Vec::new();
        while *self.token() != Token::End {
            let at = self.at();
            items.push((self.item()?, at));
        }
        Ok(Text { name, items })
    }

    fn item(&mut self) -> Result<Item, TextError> {
        if self.take_word("function") {
            return Ok(Item::Function(self.function()?));
        }
        let Token::Name(word) = self.token().clone() else {
            return Ok(Item::Statement(self.statement()?));
        };
        let item = match word.as_str() {
            "input" | "output" => {
                self.next += 1;
                let (name, record_words) = (self.name()?, self.number()?);
                if word == "input" {
                    Item::Input { name, record_words }
                } else {
                    Item::Output { name, record_words }
                }
            }
            "array" => {
                self.next += 1;
                let (name, words) = (self.name()?, self.number()?);
                let unit = if !self.take_word("in") {
                    Some(0)
                } else if self.take_word("every") {
                    None
                } else {
                    Some(self.number()?)
                };
                Item::Array { name, words, unit }
            }
            "indexed" => {
                self.next += 1;
                Item::Indexed(self.name()?)
            }
            "scalar" => {
                self.next += 1;
                Item::Scalar(self.name()?)
            }
            "constant" => {
                self.next += 1;
                let (name, number) = (self.name()?, self.number()?);
                Item::Constant { name, number }
            }
            _ => return Ok(Item::Statement(self.statement()?)),
        };
        self.line()?;
        Ok(item)
    }

    fn function(&mut self) -> Result<Function, TextError> {
        let name = self.name()?;
        self.sign("(")?;
        let mut parameters = Vec::new();
        while !self.take_sign(")") {
            parameters.push(self.name()?);
            if !self.take_sign(",") && *self.token() != Token::Sign(")") {
                return Err(self.expected("a comma or a parenthesis"));
            }
        }
        self.sign("{")?;
        let mut body = Vec::new();
        while !self.take_word("return") {
            if *self.token() == Token::Sign("}") {
                return Err(self.at().wrong("a function ends with: return VALUES"));
            }
            let at = self.at();
            body.push((self.statement()?, at));
        }
        let result = self.list()?;
        self.line()?;
        self.sign("}")?;
        self.line()?;
        Ok(Function {
            name,
            parameters,
            body,
            result,
        })
    }

    fn statement(&mut self) -> Result<Statement, TextError> {
        self.operators = 0;
        if self.take_word("loop") {
            return Ok(Statement::Loop(Box::new(self.repeat()?)));
        }
        if self.take_word("write") {
            let stream = self.name()?;
            let first = if self.take_sign("[") {
                let first = self.number()?;
                self.sign("]")?;
                Some(first)
            } else {
                None
            };
            let value = self.primary()?;
            self.line()?;
            return Ok(Statement::Write {
                stream,
                first,
                value,
            });
        }
        let at = self.at();
        let name = self.name()?;
        let access = self.access();
        if self.take_sign("[") {
            let index = self.expression()?;
            self.sign("]")?;
            self.sign("=")?;
            let value = self.list()?;
            self.line()?;
            return Ok(Statement::Store {
                name,
                access,
                index,
                value,
            });
        }
        let mut names = vec![(name, at)];
        while self.take_sign(",") {
            let at = self.at();
            names.push((self.name()?, at));
        }
        self.sign("=")?;
        let value = self.list()?;
        self.line()?;
        Ok(Statement::Assign { names, value })
    }

    fn repeat(&mut self) -> Result<Loop, TextError> {
        let trip = if self.take_word("over") {
            let stream = self.name()?;
            let per_iteration = if self.take_word("by") {
                self.number()?
            } else {
                1
            };
            Trip::Over {
                stream,
                per_iteration,
            }
        } else {
            let trip = match self.token() {
                Token::Number(_) => Trip::Times(self.number()?),
                _ => Trip::Scalar(self.name()?),
            };
            if !self.take_word("times") {
                return Err(self.expected("times"));
            }
            trip
        };
        let unroll = if self.take_word("unroll") {
            self.number()?
        } else {
            1
        };
        let is_pipelined = self.take_word("pipelined");
        let label = if self.take_word("called") {
            Some(self.name()?)
        } else {
            None
        };
        self.enter()?;
        self.sign("{")?;
        let mut body = Vec::new();
        while !self.take_sign("}") {
            let at = self.at();
            body.push((self.statement()?, at));
        }
        self.line()?;
        self.depth -= 1;
        Ok(Loop {
            trip,
            unroll,
            is_pipelined,
            label,
            body,
        })
    }

    /// Expressions with commas between them.
    fn list(&mut self) -> Result<Expression, TextError> {
        let first = self.expression()?;
        if *self.token() != Token::Sign(",") {
            return Ok(first);
        }
        let at = first.at;
        let mut parts = vec![first];
        while self.take_sign(",") {
            parts.push(self.expression()?);
        }
        Ok(Expression {
            at,
            form: Form::List(parts),
        })
    }

    fn expression(&mut self) -> Result<Expression, TextError> {
        self.binary(0)
    }

    /// An expression of operators that bind at least as much as those of a level.
    fn binary(&mut self, level: usize) -> Result<Expression, TextError> {
        let Some(signs) = OPERATORS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            let at = self.at();
            let Some(sign) = signs.iter().find(|sign| self.take_sign(sign)) else {
                return Ok(left);
            };
            self.operators += 1;
            if self.operators > MOST_OPERATORS {
                return Err(at.wrong(format!(
                    "a statement has at most {MOST_OPERATORS} operators"
                )));
            }
            let right = self.binary(level + 1)?;
            left = Expression {
                at,
                form: Form::Operation {
                    sign,
                    left: Box::new(left),
                    right: Box::new(right),
                },
            };
        }
    }

    fn unary(&mut self) -> Result<Expression, TextError> {
        let at = self.at();
        if !self.take_sign("~") {
            return self.primary();
        }
        self.enter()?;
        let inverted = self.unary()?;
        self.depth -= 1;
        let all = Expression {
            at,
            form: Form::Number(u32::MAX),
        };
        Ok(Expression {
            at,
            form: Form::Operation {
                sign: "^",
                left: Box::new(inverted),
                right: Box::new(all),
            },
        })
    }

    fn primary(&mut self) -> Result<Expression, TextError> {
        let at = self.at();
        let form = match self.token().clone() {
            Token::Number(number) => {
                self.next += 1;
                Form::Number(number)
            }
            Token::Sign("(") => {
                self.next += 1;
                Form::List(self.arguments()?)
            }
            Token::Name(word) if word == "read" => {
                self.next += 1;
                let stream = self.name()?;
                let words = if self.take_sign("[") {
                    let first = self.number()?;
                    self.sign("..")?;
                    let end = self.number()?;
                    self.sign("]")?;
                    Some([first, end])
                } else {
                    None
                };
                Form::Read { stream, words }
            }
            Token::Name(_) => {
                let name = self.name()?;
                let access = self.access();
                if self.take_sign("[") {
                    self.enter()?;
                    let index = Box::new(self.expression()?);
                    self.depth -= 1;
                    self.sign("]")?;
                    Form::Load {
                        name,
                        access,
                        index,
                    }
                } else if self.take_sign("(") {
                    Form::Call {
                        function: name,
                        arguments: self.arguments()?,
                    }
                } else {
                    Form::Name(name)
                }
            }
            _ => return Err(self.expected("a value")),
        };
        let found = Expression { at, form };
        if !self.take_sign(".") {
            return Ok(found);
        }
        Ok(Expression {
            at,
            form: Form::Place {
                list: Box::new(found),
                place: self.number()?,
            },
        })
    }

    /// Expressions up to the parenthesis that closes them.
    fn arguments(&mut self) -> Result<Vec<Expression>, TextError> {
        self.enter()?;
        let mut arguments = Vec::new();
        while !self.take_sign(")") {
            arguments.push(self.expression()?);
            if !self.take_sign(",") && *self.token() != Token::Sign(")") {
                return Err(self.expected("an operator, a comma or a parenthesis"));
            }
        }
        self.depth -= 1;
        Ok(arguments)
    }

    /// What the index that follows is meant of: `.row` or `.bit` may stand before it.
    fn access(&mut self) -> Access {
        let access = match self.tokens.get(self.next..self.next + 3) {
            Some(
                [
                    (Token::Sign("."), _),
                    (Token::Name(word), _),
                    (Token::Sign("["), _),
                ],
            ) => match word.as_str() {
                "row" => Access::Row,
                "bit" => Access::Bit,
                _ => return Access::Word,
            },
            _ => return Access::Word,
        };
        self.next += 2;
        access
    }

    fn enter(&mut self) -> Result<(), TextError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.at().wrong(format!(
                "at most {MOST_DEPTH} parentheses and loops may be open"
            )));
        }
        Ok(())
    }

    fn token(&self) -> &Token {
        self.tokens
            .get(self.next)
            .map_or(&Token::End, |(token, _)| token)
    }

    fn at(&self) -> At {
        let last = self.tokens.len() - 1;
        self.tokens[self.next.min(last)].1
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_there = matches!(self.token(), Token::Name(name) if name == word);
        self.next += usize::from(is_there);
        is_there
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is_there = matches!(self.token(), Token::Sign(found) if *found == sign);
        self.next += usize::from(is_there);
        is_there
    }

    fn sign(&mut self, sign: &str) -> Result<(), TextError> {
        if self.take_sign(sign) {
            return Ok(());
        }
        Err(self.expected(sign))
    }

    fn name(&mut self) -> Result<String, TextError> {
        match self.token() {
            Token::Name(name) if RESERVED.contains(&name.as_str()) => {
                let message = format!("{name} is a word of the language, not a name");
                Err(self.at().wrong(message))
            }
            Token::Name(name) => {
                let name = name.clone();
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.expected("a name")),
        }
    }

    fn number(&mut self) -> Result<u32, TextError> {
        match *self.token() {
            Token::Number(number) => {
                self.next += 1;
                Ok(number)
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// The end of a statement.
    fn line(&mut self) -> Result<(), TextError> {
        match self.token() {
            Token::Line => {
                self.next += 1;
                Ok(())
            }
            Token::End | Token::Sign("}") => Ok(()),
            _ => Err(self.expected("the end of the line")),
        }
    }

    fn expected(&self, what: &str) -> TextError {
        let found = match self.token() {
            Token::Name(name) => name.clone(),
            Token::Number(number) => number.to_string(),
            Token::Sign(sign) => (*sign).to_owned(),
            Token::Line => "the end of the line".to_owned(),
            Token::End => "the end of the text".to_owned(),
        };
        self.at().wrong(format!("expected {what}, found {found}"))
    }
}

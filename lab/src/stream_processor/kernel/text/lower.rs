//! From the parts of a text to operations of a builder.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::{
    Addressing, ArrayId, Builder, IndexedId, InputId, Kernel, OutputId, Over, Placement, ScalarId,
    Value,
};
use super::operations::{built_in, is_built_in, one, operation};
use super::syntax::{Access, Expression, Form, Function, Item, Loop, Statement, Text, Trip};
use super::{At, TextError};

/// Values of a kernel before loops are unrolled: a store of microcode holds far
/// fewer operations.
const MOST_VALUES: usize = 16_384;
/// Expressions that are walked, each once per call of its function.
const MOST_STEPS: u32 = 100_000;
/// Words that a name stands for.
const MOST_WORDS: usize = 4096;
const MOST_RECORD_WORDS: u32 = 4096;
const MOST_ARRAY_WORDS: u32 = 65_536;
const MOST_UNROLLED: u32 = 64;
const MOST_TIMES: u32 = 1_000_000;

/// The kernel of a text.
pub(super) fn lower(text: &Text) -> Result<Kernel, TextError> {
    let mut k = Builder::new(&text.name);
    let mut lowering = Lowering {
        functions: Vec::new(),
        steps: 0,
        times: 1,
        begun: BTreeMap::new(),
    };
    let mut names = Names::new();
    for (item, at) in &text.items {
        k.set_place(at.place());
        match item {
            Item::Function(function) => {
                lowering.define(&mut names, function, *at)?;
            }
            Item::Statement(statement) => lowering.statement(&mut k, &mut names, statement, *at)?,
            declaration => declare(&mut k, &mut names, declaration, *at)?,
        }
        if let Some(error) = k.failure() {
            return Err(error.into());
        }
    }
    if let Some((stream, words)) = lowering.begun.first_key_value() {
        let end = At { line: 1, column: 1 };
        return Err(end.wrong(format!("a record of {stream} ends after {words} words")));
    }
    Ok(k.finish()?)
}

/// What a name stands for.
#[derive(Clone)]
enum Meaning {
    Words(Vec<Value>),
    Input(InputId, u32),
    Output(OutputId, u32),
    Array(ArrayId),
    Indexed(IndexedId),
    Scalar(ScalarId),
    Constant(u32),
    /// A place in the list of functions.
    Function(usize),
}

type Names = HashMap<String, Meaning>;

/// Adds what a declaration names.
fn declare(k: &mut Builder, names: &mut Names, item: &Item, at: At) -> Result<(), TextError> {
    let limited = |what: &str, found: u32, most: u32| match found {
        1.. if found <= most => Ok(()),
        _ => Err(at.wrong(format!("{what} has 1 to {most} words, not {found}"))),
    };
    let (name, meaning) = match item {
        Item::Input { name, record_words } => {
            limited("a record", *record_words, MOST_RECORD_WORDS)?;
            let stream = k.input(name, *record_words);
            (name, Meaning::Input(stream, *record_words))
        }
        Item::Output { name, record_words } => {
            limited("a record", *record_words, MOST_RECORD_WORDS)?;
            let stream = k.output(name, *record_words);
            (name, Meaning::Output(stream, *record_words))
        }
        Item::Array { name, words, unit } => {
            limited("an array", *words, MOST_ARRAY_WORDS)?;
            let placement = unit.map_or(Placement::Every, Placement::Unit);
            (name, Meaning::Array(k.array(name, *words, placement)))
        }
        Item::Indexed(name) => (name, Meaning::Indexed(k.indexed(name))),
        Item::Scalar(name) => (name, Meaning::Scalar(k.scalar_parameter(name))),
        Item::Constant { name, number } => (name, Meaning::Constant(*number)),
        // These declare nothing.
        Item::Function(_) | Item::Statement(_) => return Ok(()),
    };
    match names.insert(name.clone(), meaning) {
        None => Ok(()),
        Some(_) => Err(at.wrong(format!("{name} has another meaning already"))),
    }
}

struct Lowering<'a> {
    /// Each with the names that its body knows.
    functions: Vec<(&'a Function, Names)>,
    steps: u32,
    /// Iterations of the loops that are open, multiplied.
    times: u32,
    /// Words that have been read or written of the records that are not complete, by
    /// the stream's name.
    begun: BTreeMap<String, u32>,
}

impl<'a> Lowering<'a> {
    fn define(
        &mut self,
        names: &mut Names,
        function: &'a Function,
        at: At,
    ) -> Result<(), TextError> {
        let mut known = names.clone();
        known.retain(|_, meaning| !matches!(meaning, Meaning::Words(_)));
        let meaning = Meaning::Function(self.functions.len());
        if is_built_in(&function.name) || names.insert(function.name.clone(), meaning).is_some() {
            let name = &function.name;
            return Err(at.wrong(format!("{name} has another meaning already")));
        }
        let mut seen = HashSet::new();
        for parameter in &function.parameters {
            if !seen.insert(parameter) || known.contains_key(parameter) {
                let message = format!("parameter {parameter} has another meaning already");
                return Err(at.wrong(message));
            }
        }
        self.functions.push((function, known));
        Ok(())
    }

    fn statement(
        &mut self,
        k: &mut Builder,
        names: &mut Names,
        statement: &Statement,
        at: At,
    ) -> Result<(), TextError> {
        match statement {
            Statement::Assign {
                names: targets,
                value,
            } => {
                let words = self.words(k, names, value)?;
                self.assign(names, targets, words, at)?;
            }
            Statement::Store {
                name,
                access,
                index,
                value,
            } => {
                self.store(k, names, (name, *access), index, value, at)?;
            }
            Statement::Write {
                stream: name,
                first,
                value,
            } => {
                let words = self.words(k, names, value)?;
                let Meaning::Output(stream, record_words) = meaning(names, name, at)? else {
                    return Err(at.wrong(format!("{name} is no output stream")));
                };
                k.set_place(at.place());
                match first {
                    None => {
                        self.take_words(name, [0, record_words], record_words, at)?;
                        k.write(stream, &words);
                    }
                    Some(first) => {
                        k.write_words(stream, *first, &words);
                        let end = first.saturating_add(words.len() as u32);
                        self.take_words(name, [*first, end], record_words, at)?;
                    }
                }
            }
            Statement::Loop(looped) => self.repeat(k, names, looped, at)?,
        }
        if k.value_count() > MOST_VALUES {
            return Err(at.wrong(format!("a kernel has at most {MOST_VALUES} values")));
        }
        k.failure().map_or(Ok(()), |error| Err(error.into()))
    }

    fn assign(
        &self,
        names: &mut Names,
        targets: &[(String, At)],
        words: Vec<Value>,
        at: At,
    ) -> Result<(), TextError> {
        let lists: Vec<Vec<Value>> = match targets.len() {
            1 => vec![words],
            count if count == words.len() => words.into_iter().map(|word| vec![word]).collect(),
            count => {
                let found = words.len();
                return Err(at.wrong(format!("{count} names and {found} words")));
            }
        };
        for ((name, at), words) in targets.iter().zip(lists) {
            if is_built_in(name) {
                return Err(at.wrong(format!("{name} is a function")));
            }
            match names.get(name) {
                None | Some(Meaning::Words(_)) => {}
                Some(_) => return Err(at.wrong(format!("{name} is declared, and no variable"))),
            }
            names.insert(name.clone(), Meaning::Words(words));
        }
        Ok(())
    }

    /// Words of a record follow those before them.
    fn take_words(
        &mut self,
        stream: &str,
        [first, end]: [u32; 2],
        record_words: u32,
        at: At,
    ) -> Result<(), TextError> {
        let next = self.begun.remove(stream).unwrap_or(0);
        if first != next {
            return Err(at.wrong(format!(
                "the words of a record go in order: the next one of {stream} is word {next}"
            )));
        }
        if end < record_words {
            self.begun.insert(stream.to_owned(), end);
        }
        Ok(())
    }

    fn store(
        &mut self,
        k: &mut Builder,
        names: &Names,
        (name, access): (&str, Access),
        index: &Expression,
        value: &Expression,
        at: At,
    ) -> Result<(), TextError> {
        let word = self.word(k, names, value, "what is stored")?;
        match (meaning(names, name, at)?, access) {
            (Meaning::Array(array), Access::Word) => {
                let (index, offset) = self.index(k, names, index)?;
                k.set_place(at.place());
                k.scratch_write(array, index, offset, word);
            }
            (Meaning::Indexed(stream), Access::Word | Access::Row) => {
                let index = self.word(k, names, index, "an index")?;
                k.set_place(at.place());
                k.indexed_write(stream, addressing(access), index, word);
            }
            (Meaning::Array(_), Access::Bit) => {
                return Err(at.wrong("bits are read only"));
            }
            _ => return Err(at.wrong(no_memory(name, access))),
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        k: &mut Builder,
        names: &mut Names,
        looped: &Loop,
        at: At,
    ) -> Result<(), TextError> {
        if let Trip::Times(times) = looped.trip
            && times == looped.unroll
        {
            return self.unrolled(k, names, looped);
        }
        let over = over(names, looped, at)?;
        let outside = self.times;
        if let Trip::Times(times) = looped.trip {
            self.times = times.saturating_mul(outside);
            if self.times > MOST_TIMES {
                let times = self.times;
                return Err(at.wrong(format!("loops run {times} times, at most {MOST_TIMES}")));
            }
        }
        let begun = self.begun.clone();
        let mut assigned = Vec::new();
        assigned_names(&looped.body, &mut assigned);
        // The words of outer variables that the body assigns.
        let carried: Vec<(&str, Vec<Value>)> = (assigned.into_iter())
            .filter_map(|name| match names.get(name) {
                Some(Meaning::Words(words)) => Some((name, words.clone())),
                _ => None,
            })
            .collect();
        let before: Vec<Value> = carried
            .iter()
            .flat_map(|(_, words)| words.clone())
            .collect();
        let mut inner = names.clone();
        let mut outcome = Ok(());
        k.set_place(at.place());
        let after = k.repeat(over, &before, |k, inside| {
            rename(&mut inner, &carried, inside);
            let mut body = looped.body.iter();
            outcome =
                body.try_for_each(|(statement, at)| self.statement(k, &mut inner, statement, *at));
            k.set_place(at.place());
            match &outcome {
                Ok(()) => lists(&inner, &carried),
                Err(_) => inside.to_vec(),
            }
        });
        self.times = outside;
        outcome?;
        let others = self.begun.iter().chain(&begun);
        for (stream, _) in others {
            if self.begun.get(stream) != begun.get(stream) {
                return Err(at.wrong(format!(
                    "an iteration reads or writes a part of a record of {stream}"
                )));
            }
        }
        for (name, words) in &carried {
            if let Some(Meaning::Words(next)) = inner.get(*name)
                && next.len() != words.len()
            {
                let (before, after) = (words.len(), next.len());
                return Err(at.wrong(format!(
                    "{name} has {before} words before the loop, and {after} after an iteration"
                )));
            }
        }
        rename(names, &carried, &after);
        Ok(())
    }

    /// The body of a loop as often as it runs, in place of the loop.
    fn unrolled(
        &mut self,
        k: &mut Builder,
        names: &mut Names,
        looped: &Loop,
    ) -> Result<(), TextError> {
        let outside: HashSet<String> = names.keys().cloned().collect();
        for _ in 0..looped.unroll {
            for (statement, at) in &looped.body {
                self.statement(k, names, statement, *at)?;
            }
            names.retain(|name, _| outside.contains(name));
        }
        Ok(())
    }

    /// The words of an expression.
    fn words(
        &mut self,
        k: &mut Builder,
        names: &Names,
        expression: &Expression,
    ) -> Result<Vec<Value>, TextError> {
        let at = expression.at;
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(at.wrong("calls of functions make this kernel too large"));
        }
        let words = match &expression.form {
            Form::Number(number) => vec![k.constant(*number)],
            Form::Name(name) => match meaning(names, name, at)? {
                Meaning::Words(words) => words,
                Meaning::Scalar(scalar) => vec![k.scalar(scalar)],
                Meaning::Constant(number) => vec![k.constant(number)],
                _ => return Err(at.wrong(format!("{name} is no value"))),
            },
            Form::Place { list, place } => {
                let words = self.words(k, names, list)?;
                let word = words.get(*place as usize).copied();
                vec![word.ok_or_else(|| {
                    at.wrong(format!("place {place} of a list of {} words", words.len()))
                })?]
            }
            Form::Load {
                name,
                access,
                index,
            } => {
                vec![self.load(k, names, (name, *access), index, at)?]
            }
            Form::Read { stream, words } => {
                let Meaning::Input(id, record_words) = meaning(names, stream, at)? else {
                    return Err(at.wrong(format!("{stream} is no input stream")));
                };
                let [first, end] = words.unwrap_or([0, record_words]);
                if first >= end || end > record_words {
                    return Err(at.wrong(format!(
                        "a record of {stream} has words 0 to {}",
                        record_words - 1
                    )));
                }
                self.take_words(stream, [first, end], record_words, at)?;
                k.set_place(at.place());
                k.read_words(id, first..end)
            }
            Form::Call {
                function,
                arguments,
            } => {
                let lists = (arguments.iter())
                    .map(|argument| self.words(k, names, argument))
                    .collect::<Result<Vec<_>, _>>()?;
                match names.get(function) {
                    Some(Meaning::Function(place)) => self.call(k, *place, lists, at)?,
                    None => built_in(k, function, &lists, at)?,
                    Some(_) => return Err(at.wrong(format!("{function} is no function"))),
                }
            }
            Form::Operation { sign, left, right } => {
                let left = self.words(k, names, left)?;
                let right = self.words(k, names, right)?;
                operation(k, sign, &left, &right, at)?
            }
            Form::List(parts) => {
                let mut words = Vec::new();
                for part in parts {
                    words.extend(self.words(k, names, part)?);
                }
                words
            }
        };
        if words.len() > MOST_WORDS {
            return Err(at.wrong(format!("a list has at most {MOST_WORDS} words")));
        }
        Ok(words)
    }

    fn word(
        &mut self,
        k: &mut Builder,
        names: &Names,
        expression: &Expression,
        what: &str,
    ) -> Result<Value, TextError> {
        let words = self.words(k, names, expression)?;
        one(&words, what, expression.at)
    }

    /// An index into an array: the part that is computed, and the number that is
    /// added to it.
    fn index(
        &mut self,
        k: &mut Builder,
        names: &Names,
        index: &Expression,
    ) -> Result<(Value, u32), TextError> {
        if let Form::Operation {
            sign: "+",
            left,
            right,
        } = &index.form
            && let Form::Number(offset) = right.form
        {
            return Ok((self.word(k, names, left, "an index")?, offset));
        }
        Ok((self.word(k, names, index, "an index")?, 0))
    }

    fn load(
        &mut self,
        k: &mut Builder,
        names: &Names,
        (name, access): (&str, Access),
        index: &Expression,
        at: At,
    ) -> Result<Value, TextError> {
        match (meaning(names, name, at)?, access) {
            (Meaning::Array(array), Access::Word) => {
                let (index, offset) = self.index(k, names, index)?;
                k.set_place(at.place());
                Ok(k.scratch_read(array, index, offset))
            }
            (Meaning::Array(array), Access::Bit) => {
                let number = self.word(k, names, index, "the number of a bit")?;
                k.set_place(at.place());
                Ok(k.scratch_bit(array, number))
            }
            (Meaning::Indexed(stream), Access::Word | Access::Row) => {
                let index = self.word(k, names, index, "an index")?;
                k.set_place(at.place());
                Ok(k.indexed_read(stream, addressing(access), index))
            }
            _ => Err(at.wrong(no_memory(name, access))),
        }
    }

    /// The body of a function in place of its call.
    fn call(
        &mut self,
        k: &mut Builder,
        place: usize,
        arguments: Vec<Vec<Value>>,
        at: At,
    ) -> Result<Vec<Value>, TextError> {
        let (function, known) = &self.functions[place];
        let function = *function;
        let (expected, found) = (function.parameters.len(), arguments.len());
        if expected != found {
            let name = &function.name;
            return Err(at.wrong(format!("{name} takes {expected} values, not {found}")));
        }
        let mut names = known.clone();
        let arguments = arguments.into_iter().map(Meaning::Words);
        names.extend(function.parameters.iter().cloned().zip(arguments));
        for (statement, at) in &function.body {
            self.statement(k, &mut names, statement, *at)?;
        }
        self.words(k, &names, &function.result)
    }
}

fn meaning(names: &Names, name: &str, at: At) -> Result<Meaning, TextError> {
    let meaning = names.get(name).cloned();
    meaning.ok_or_else(|| at.wrong(format!("nothing is called {name} here")))
}

fn addressing(access: Access) -> Addressing {
    match access {
        Access::Row => Addressing::Row,
        Access::Word | Access::Bit => Addressing::Stream,
    }
}

fn no_memory(name: &str, access: Access) -> String {
    match access {
        Access::Word => format!("{name} is neither an array nor an indexed stream"),
        Access::Row => format!("{name} is no indexed stream, and only these have rows"),
        Access::Bit => format!("{name} is no array, and only the bits of these are read"),
    }
}

fn over(names: &Names, looped: &Loop, at: At) -> Result<Over, TextError> {
    let limited = |what: &str, found: u32, most: u32| match found {
        1.. if found <= most => Ok(found),
        _ => Err(at.wrong(format!("{what} 1 to {most} times, not {found}"))),
    };
    let over = match &looped.trip {
        Trip::Over {
            stream,
            per_iteration,
        } => {
            let Meaning::Input(id, _) = meaning(names, stream, at)? else {
                return Err(at.wrong(format!("{stream} is no input stream")));
            };
            let per_iteration =
                limited("an iteration reads a record", *per_iteration, MOST_UNROLLED)?;
            Over::several_records(id, per_iteration)
        }
        Trip::Times(times) => Over::count(limited("a loop runs", *times, MOST_TIMES)?),
        Trip::Scalar(name) => match meaning(names, name, at)? {
            Meaning::Scalar(scalar) => Over::scalar(scalar),
            _ => return Err(at.wrong(format!("{name} is no scalar of the host"))),
        },
    };
    let over = over.unroll(limited("a loop is unrolled", looped.unroll, MOST_UNROLLED)?);
    let label = looped.label.as_ref().or(match &looped.trip {
        Trip::Over { stream, .. } => Some(stream),
        Trip::Times(_) | Trip::Scalar(_) => None,
    });
    let over = label.iter().fold(over, |over, label| over.label(label));
    Ok(if looped.is_pipelined {
        over.pipeline()
    } else {
        over
    })
}

/// The names that statements assign, in order, each once.
fn assigned_names<'t>(statements: &'t [(Statement, At)], found: &mut Vec<&'t str>) {
    for (statement, _) in statements {
        match statement {
            Statement::Assign { names, .. } => {
                for (name, _) in names {
                    if !found.contains(&name.as_str()) {
                        found.push(name);
                    }
                }
            }
            Statement::Loop(looped) => assigned_names(&looped.body, found),
            Statement::Store { .. } | Statement::Write { .. } => {}
        }
    }
}

/// Gives variables new words, as many as each has, from one list.
fn rename(names: &mut Names, variables: &[(&str, Vec<Value>)], words: &[Value]) {
    let mut rest = words.iter().copied();
    for (name, old) in variables {
        let words = rest.by_ref().take(old.len()).collect();
        names.insert((*name).to_owned(), Meaning::Words(words));
    }
}

/// The words of variables in one list.
fn lists(names: &Names, variables: &[(&str, Vec<Value>)]) -> Vec<Value> {
    let words = variables
        .iter()
        .filter_map(|(name, _)| match names.get(*name) {
            Some(Meaning::Words(words)) => Some(words.clone()),
            _ => None,
        });
    words.flatten().collect()
}

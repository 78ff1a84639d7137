//! The shared parts know no model, models do not know each other, and modules do not
//! import each other in cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use weir_lab::models;

/// The folders of `src`, without that of the program.
fn folders() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let entries = fs::read_dir(source).expect("the source");
    let folders = entries.map(|entry| entry.expect("an entry").path());
    folders
        .filter(|path| path.is_dir() && !path.ends_with("bin"))
        .map(|path| {
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

/// The files of a folder and its module, each with the path of its module below `src`,
/// without tests: those are in files `tests.rs`, or in a module at the end of a file.
fn modules(folder: &str) -> Vec<(Vec<String>, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = vec![source.join(format!("{folder}.rs"))];
    let mut folders = vec![source.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
                found.push(path);
            }
        }
    }
    let module = |path: &Path| {
        let path = path.strip_prefix(&source).expect("below the source");
        let names = path.with_extension("");
        names
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    };
    let code = |path: &Path| {
        let text = fs::read_to_string(path).expect("a file");
        let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        text[..end].to_owned()
    };
    found
        .iter()
        .map(|path| (module(path), code(path)))
        .collect()
}

/// The paths that a module's code begins with `crate` or `super`, as paths below
/// `crate`. A path before braces stands once for each of their parts.
fn imports(module: &[String], text: &str) -> Vec<Vec<String>> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, " "])
        .collect();
    let mut paths = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_inner = |letter: char| letter.is_alphanumeric() || "_:".contains(letter);
            // The second `super` of a path is part of the first one's.
            if !code[..at].ends_with(is_inner) {
                paths.extend(expanded(&code[at..]));
            }
        }
    }
    let absolute = |path: Vec<String>| {
        let up = path.iter().take_while(|name| *name == "super").count();
        let base = if up == 0 {
            0
        } else {
            module.len().saturating_sub(up)
        };
        let rest = path.into_iter().skip(up.max(1));
        module[..base].iter().cloned().chain(rest).collect()
    };
    paths.into_iter().map(absolute).collect()
}

/// The paths of a tree such as `a::{b, c::d}`, with which the text begins.
fn expanded(text: &str) -> Vec<Vec<String>> {
    let is_path = |letter: char| letter.is_alphanumeric() || "_:".contains(letter);
    let end = text.find(|letter| !is_path(letter)).unwrap_or(text.len());
    let names = text[..end].split("::").filter(|name| !name.is_empty());
    let path: Vec<String> = names.map(str::to_owned).collect();
    let Some(inner) = text[end..].strip_prefix('{') else {
        return vec![path];
    };
    let mut paths = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in inner.char_indices() {
        if depth == 0 && matches!(letter, ',' | '}') {
            for rest in expanded(inner[start..at].trim()) {
                paths.push([path.clone(), rest].concat());
            }
            start = at + 1;
        }
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
    }
    paths
}

#[test]
fn trees_of_imports_are_expanded() {
    let module = ["shared", "model", "run"].map(str::to_owned);
    let text = "use super::{bench::Bench, failure::{A, B}};\n\
        // use crate::no;\n\
        use crate::shared::{parallel, report::Plot};\n\
        fn f() { super::super::random::Random::new(1); }\n";
    let mut found: Vec<String> = imports(&module, text)
        .iter()
        .map(|path| path.join("::"))
        .collect();
    found.sort_unstable();
    let expected = [
        "shared::model::bench::Bench",
        "shared::model::failure::A",
        "shared::model::failure::B",
        "shared::parallel",
        "shared::random::Random::new",
        "shared::report::Plot",
    ];
    assert_eq!(found, expected);
}

#[test]
fn shared_parts_name_no_model_and_models_do_not_name_each_other() {
    let folders = folders();
    assert!(folders.len() > 1, "{folders:?}");
    for folder in &folders {
        let mut foreign: Vec<String> = folders
            .iter()
            .filter(|other| *other != folder && *other != "shared")
            .cloned()
            .collect();
        if folder == "shared" {
            for model in models() {
                foreign.push(model.name().to_owned());
                foreign.extend(model.machines().iter().map(|(name, _)| (*name).to_owned()));
                let rows = model.entries().into_iter();
                foreign.extend(rows.map(|entry| entry.id.to_owned()));
                assert!(foreign.len() > 100, "{foreign:?}");
            }
        }
        for (module, text) in modules(folder) {
            let named = foreign.iter().find(|name| text.contains(name.as_str()));
            assert_eq!(named, None, "{module:?}");
        }
    }
}

/// Modules that are beside each other in a folder of `src`.
#[test]
fn modules_do_not_import_each_other_in_cycles() {
    for folder in folders() {
        let mut imported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, text) in modules(&folder) {
            let [_, name, ..] = module.as_slice() else {
                continue;
            };
            let of_module = imported.entry(name.clone()).or_default();
            for path in imports(&module, &text) {
                if let [of, other, ..] = path.as_slice()
                    && *of == folder
                    && other != name
                {
                    of_module.insert(other.clone());
                }
            }
        }
        assert!(
            imported.values().any(|others| !others.is_empty()),
            "{folder}"
        );
        // A module whose imports are all gone goes; a cycle and what needs it stay.
        loop {
            let known: Vec<String> = imported.keys().cloned().collect();
            let before = imported.len();
            imported.retain(|_, others| others.iter().any(|other| known.contains(other)));
            if imported.len() == before {
                break;
            }
        }
        assert!(imported.is_empty(), "{folder}: {imported:#?}");
    }
}

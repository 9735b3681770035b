//! The house rules that the compiler does not know: layers, crate pins, generated tables, forgotten
//! files. See `style.md` 1.2; the table below is the exact one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A layer and the layers it may import.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("model", &["base"]),
    ("proto", &["base", "model"]),
    ("store", &["base", "model"]),
    ("agent", &["base", "model", "proto"]),
    ("ops", &["base", "model", "proto", "store", "agent"]),
    ("git", &["base"]),
    ("pty", &["base"]),
    ("config", &["base"]),
    ("server", &["base", "model", "proto", "store", "agent", "ops", "git", "pty", "config"]),
    ("client", &["base", "model", "proto", "config"]),
    ("cli", &["base", "model", "proto", "agent", "config", "client", "server", "tui", "pty"]),
    ("tui", &["base", "model", "proto", "pty", "config", "client"]),
];

/// A crate and the only places that may name it.
const PINS: &[(&str, &[&str])] = &[
    ("redb", &["store/"]),
    ("git2", &["git/"]),
    ("vt100", &["pty/"]),
    ("portable_pty", &["pty/"]),
    ("clap", &["cli/"]),
    ("clap_complete", &["cli/"]),
    ("clap_mangen", &["cli/"]),
    ("ratatui", &["tui/"]),
    ("crossterm", &["tui/"]),
    ("tokio", &["server/", "client/stream.rs", "tui/mod.rs"]),
];

fn sources() -> Vec<(String, String)> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    let name = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// Code without comments and without the test module at its end.
fn product_code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The layers that a file names by `crate::<layer>`, also inside `use crate::{…}`.
fn imported(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let list = rest.strip_prefix('{').map_or(rest, |inner| inner);
        let is_list = rest.starts_with('{');
        let end = if is_list { list.find('}').unwrap_or(list.len()) } else { list.len() };
        let mut depth = 0_usize;
        let mut word = String::new();
        for c in list[..end].chars() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                c if depth == 0 && (c.is_alphanumeric() || c == '_') => word.push(c),
                ',' if depth == 0 && is_list => word.clear(),
                _ if depth == 0 && !word.is_empty() => {
                    names.insert(std::mem::take(&mut word));
                    if !is_list {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    names
}

#[test]
fn imports_point_down_only() {
    let mut wrong = Vec::new();
    let layers: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    for (file, text) in sources() {
        let Some((layer, _)) = file.split_once('/') else { continue };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
            wrong.push(format!("{file}: the layer {layer} is not in the table"));
            continue;
        };
        for name in imported(&product_code(&text)) {
            if layers.contains(name.as_str()) && name != layer && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{file}: imports {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn big_crates_stay_in_their_place() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        let code = product_code(&text);
        for (name, places) in PINS {
            let is_named = code.contains(&format!("{name}::")) || code.contains(&format!("use {name}"));
            let is_part_of_a_word = !code
                .match_indices(&format!("{name}::"))
                .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
                && !code.contains(&format!("use {name}"));
            if is_named && !is_part_of_a_word && !places.iter().any(|place| file.starts_with(place)) {
                wrong.push(format!("{file}: names {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_left_for_later() {
    let marks = ["todo!(", "unimplemented!(", "TODO", "FIXME", "XXX", "#[ignore", "allow(dead_code)"];
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) {
                wrong.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_import_reader_reads_all_forms() {
    let code = "use crate::base::id;\nuse crate::{model::task, proto::{a, b}};\nlet x = crate::store::Store::open();";
    let names: Vec<String> = imported(code).into_iter().collect();
    assert_eq!(names, ["base", "model", "proto", "store"]);
}

#[test]
fn the_readme_has_the_keys_of_the_key_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once("a test -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /keys -->").unwrap();
    let table = orca::tui::keys::Keys::markdown();
    let expected = format!("{before}a test -->\n{}\n<!-- /keys -->{after}", table.trim_end());
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    assert!(
        readme == expected || std::env::var_os("UPDATE_README").is_some(),
        "run UPDATE_README=1 cargo test"
    );
}

//! A command line as words, as a shell would split it.

pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut is_open) = (None, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => (quote, is_open) = (Some(c), true),
            (None, ' ') => {
                if is_open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            (Some('"') | None, '\\') => word.extend(chars.next()),
            (_, c) => word.push(c),
        }
    }
    if is_open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// Says that a line is a command of the real tree; asking for help or the version is one.
pub fn assert_runnable(line: &str, whence: &str) {
    let argv: Vec<std::ffi::OsString> = words(line).into_iter().map(Into::into).collect();
    if let Err(error) = orca::cli::parse(&argv) {
        use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
        let is_told = matches!(error.kind(), DisplayHelp | DisplayVersion);
        assert!(is_told, "{whence} shows a line that cannot be run: {line}\n{error}");
    }
}

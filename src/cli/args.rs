//! Arguments that several verbs share.

use crate::base::code::ErrorCode;
use crate::base::text::{cut_chars, one_line, parse_duration};
use crate::proto::error::ErrorBody;
use crate::proto::run::LimitWishes;
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::ffi::OsString;
use std::io::Read;

/// The longest text that is taken from a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// `--from`: who the caller says it is.
#[derive(Debug, Clone, Args)]
pub struct FromArg {
    /// Act as this terminal handle instead of the one this runs in; `user` is the person.
    #[arg(long, value_name = "HANDLE")]
    pub from: Option<String>,
}

/// `--run`: which Run is meant.
#[derive(Debug, Clone, Args)]
pub struct RunArg {
    /// The Run [default: the one this terminal is bound to].
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
}

/// `--retry-request`: every mutation has it.
#[derive(Debug, Clone, Args)]
pub struct RetryArg {
    /// Repeat an earlier request under its id instead of doing it twice.
    #[arg(long, value_name = "ID")]
    pub retry_request: Option<String>,
}

/// `--no-fleet`: the answer comes without the fleet block.
#[derive(Debug, Clone, Args)]
pub struct FleetArg {
    /// Leave out how the Run's active attempts stand.
    #[arg(long)]
    pub no_fleet: bool,
}

/// The limits of a Run; `run-create` and `run-set` have them.
#[derive(Debug, Clone, Args)]
pub struct LimitArgs {
    /// Attempts that may run at once, 1 to 10000; none for no limit [default: none; run-set: as it is].
    #[arg(long, value_name = "N")]
    pub max_workers: Option<String>,
    /// Attempts at one task, 1 to 10000; none for no limit [default: none; run-set: as it is].
    #[arg(long, value_name = "N")]
    pub max_attempts: Option<String>,
    /// Ask the person when an attempt runs longer, such as 90s, 45m, 2h, 1h30m; none for no limit [default: none; run-set: as it is].
    #[arg(long, value_name = "DURATION")]
    pub max_wall: Option<String>,
    /// Ask the person when an attempt gives no sign for longer, such as 20m; none for no limit [default: none; run-set: as it is].
    #[arg(long, value_name = "DURATION")]
    pub max_silence: Option<String>,
}

impl LimitArgs {
    /// As they go over the wire.
    pub fn wishes(&self) -> Result<LimitWishes, ErrorBody> {
        let number = |flag: &str, value: &Option<String>| {
            let read = |text: &String| match text.as_str() {
                "none" => Ok(0),
                text => text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
                    let shown = cut_chars(&one_line(text), 40);
                    invalid(format!("{flag} must be a whole number from 1 on, or none, not {shown:?}."))
                }),
            };
            value.as_ref().map(read).transpose()
        };
        let time = |flag: &str, value: &Option<String>| {
            let read = |text: &String| {
                parse_duration(text).ok_or_else(|| {
                    let shown = cut_chars(&one_line(text), 40);
                    invalid(format!(
                        "{flag} must be a time like 90s, 45m, 2h or 1h30m, or none, not {shown:?}."
                    ))
                })
            };
            value.as_ref().map(read).transpose()
        };
        Ok(LimitWishes {
            max_workers: number("--max-workers", &self.max_workers)?,
            max_attempts: number("--max-attempts", &self.max_attempts)?,
            max_wall_ms: time("--max-wall", &self.max_wall)?,
            max_silence_ms: time("--max-silence", &self.max_silence)?,
        })
    }
}

/// The text of a flag, or of the file that stands for it; `-` is standard input. One argument holds at
/// most 128 KiB on Linux, so longer texts need the file. At most 1 MiB of UTF-8.
pub fn text_or_file(flag: &str, text: Option<&str>, file: Option<&str>) -> Result<Option<String>, ErrorBody> {
    let Some(file) = file else { return Ok(text.map(str::to_owned)) };
    let shown = one_line(file);
    let cannot = |why: String| invalid(format!("{flag} {shown}: {why}."));
    let mut bytes = Vec::new();
    let mut reader: Box<dyn Read> = match file {
        "-" => Box::new(std::io::stdin()),
        path => Box::new(std::fs::File::open(path).map_err(|error| cannot(error.to_string()))?),
    };
    let limit = MAX_FILE_BYTES + 1;
    reader.by_ref().take(limit).read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 == limit {
        return Err(cannot(String::from("it is over 1 MiB")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| cannot(String::from("it is not UTF-8 text")))
}

/// A flag that holds a JSON array of strings, such as `'["task_1"]'`.
pub fn string_array(flag: &str, text: &str) -> Result<Vec<String>, ErrorBody> {
    serde_json::from_str(text).map_err(|_| {
        let shown = cut_chars(&one_line(text), 80);
        ErrorBody::new(
            ErrorCode::InvalidArgument,
            format!("{flag} must be a JSON array of strings like '[\"a\",\"b\"]', not {shown}."),
        )
    })
}

/// The words that a flag takes: the help shows them, the shell completes them, and another word is
/// refused with the nearest of them before a server is asked.
pub fn words<T: Copy>(all: &[T], text: fn(T) -> &'static str) -> PossibleValuesParser {
    PossibleValuesParser::new(all.iter().map(|value| text(*value)))
}

/// A flag that holds a comma-separated list of names, at least one.
pub fn names(flag: &str, text: Option<&str>) -> Result<Vec<String>, ErrorBody> {
    let names = text.map(csv).unwrap_or_default();
    if text.is_some() && names.is_empty() {
        return Err(invalid(format!("{flag} names nothing; give names with commas between them.")));
    }
    Ok(names)
}

/// A flag that holds a comma-separated list; blanks are dropped.
pub fn csv(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Lets a value begin with one dash, as a Markdown list does: `--body "- done"` becomes
/// `--body=- done`. A value that begins with two needs the `=` form (contract 2.1).
pub fn join_dashed_values(argv: &[OsString]) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(argv.len());
    let mut is_open = true;
    for word in argv {
        is_open &= word != "--";
        let takes_it = |flag: &&mut OsString| {
            flag.to_str().is_some_and(|flag| flag.starts_with("--") && !flag.contains('='))
        };
        match joined.last_mut().filter(takes_it) {
            Some(flag) if is_open && is_dashed_value(word) => {
                flag.push("=");
                flag.push(word);
            }
            _ => joined.push(word.clone()),
        }
    }
    joined
}

/// One dash and more, but none of the short flags.
fn is_dashed_value(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| {
        word.len() > 1
            && word.starts_with('-')
            && !word.starts_with("--")
            && !matches!(word, "-h" | "-v" | "-V")
    })
}

/// An `invalid_argument` of the command line itself.
pub fn invalid(message: impl Into<String>) -> ErrorBody {
    ErrorBody::new(ErrorCode::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_from_a_file_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spec.md");
        let file = path.to_str().unwrap();
        let read = || text_or_file("--spec-file", None, Some(file));
        std::fs::write(&path, "- a\r\n--b\n").unwrap();
        assert_eq!(read().unwrap().unwrap(), "- a\r\n--b\n");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(read().unwrap_err().message.contains("UTF-8"));
        std::fs::write(&path, vec![b'a'; (MAX_FILE_BYTES + 1) as usize]).unwrap();
        assert!(read().unwrap_err().message.contains("over 1 MiB"));
        std::fs::remove_file(&path).unwrap();
        assert!(read().is_err());
        assert_eq!(text_or_file("--spec-file", Some("x"), None).unwrap().unwrap(), "x");
    }

    #[test]
    fn one_dash_begins_a_value_and_two_a_flag() {
        let check = |given: &[&str], expected: &[&str]| {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            assert_eq!(join_dashed_values(&given), expected);
        };
        check(&["orca", "--body", "- a"], &["orca", "--body=- a"]);
        check(&["orca", "--n", "-1", "-2"], &["orca", "--n=-1", "-2"]);
        check(&["orca", "--json", "-h"], &["orca", "--json", "-h"]);
        check(&["orca", "--a=b", "-c"], &["orca", "--a=b", "-c"]);
        check(&["orca", "--a", "--b", "-"], &["orca", "--a", "--b", "-"]);
        check(&["orca", "--", "--a", "-b"], &["orca", "--", "--a", "-b"]);
    }

    #[test]
    fn lists_come_as_json_or_commas() {
        assert_eq!(string_array("--deps", r#"["a","b"]"#).unwrap(), ["a", "b"]);
        for bad in ["", "a", "{}", "[1]", "[\"a\"", "null"] {
            assert!(string_array("--deps", bad).is_err(), "{bad}");
        }
        assert_eq!(csv(" a, ,b,"), ["a", "b"]);
    }
}

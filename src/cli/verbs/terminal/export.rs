//! Writing a terminal's output for other programs.

use super::TerminalArg;
use crate::base::code::ErrorCode;
use crate::base::text::shell_quote;
use crate::cli::verb::{self, Session};
use crate::proto::envelope::Response;
use crate::proto::error::ErrorBody;
use crate::proto::terminal::{ExportFormat, ExportPart, ExportedTerminal, TerminalExport};
use clap::{Args, ValueEnum};
use serde_json::json;

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    // Plain lines.
    Text,
    // Lines with their colours and links.
    Ansi,
    // A recording, asciicast version 2.
    Asciicast,
}

/// Writes everything that is kept of a terminal's output: running, ended or released. Of a released
/// terminal only its text is kept. A recording reaches as far back as the journal (the newest one or two
/// MiB of raw output) and has the times of the output; where the journal knows none, a piece every 50 ms.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca terminal export --terminal term_0123456789ab --format asciicast \\\n      --output run.cast"
)]
pub struct TerminalExportArgs {
    #[command(flatten)]
    terminal: TerminalArg,
    /// Plain text, ansi with colours and links, or a recording as asciicast version 2.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The file to write [default: standard output].
    #[arg(long, value_name = "FILE")]
    output: Option<String>,
}

/// Asks for the parts one after the other and writes them.
pub fn run(args: &TerminalExportArgs, session: &mut Session<'_>) -> u8 {
    let format = match args.format {
        Format::Text => ExportFormat::Text,
        Format::Ansi => ExportFormat::Ansi,
        Format::Asciicast => ExportFormat::Asciicast,
    };
    let mut text = String::new();
    let mut cursor = None;
    let (last, response) = loop {
        let call = TerminalExport { terminal: args.terminal.terminal.clone(), format, cursor };
        let response = verb::answer(&call, session);
        let Some(part) = part_of(&response) else { return verb::fail(session, &response) };
        text.push_str(&part.text);
        // A terminal that goes on writing is read up to where it was.
        cursor = part.next_cursor.filter(|next| cursor.is_none_or(|before| *next > before));
        if cursor.is_none() {
            break (part, response);
        }
    };
    let text = format!("{}\n", text.trim_end_matches('\n'));
    let Some(path) = &args.output else {
        if session.is_json {
            let mut response = response;
            response.result = Some(json!({ "export": ExportPart { text, ..last } }));
            session.out.json(&response);
        } else {
            session.out.data(&text);
        }
        return 0;
    };
    if let Err(error) = std::fs::write(path, &text) {
        let folder =
            std::path::Path::new(path).parent().map_or_else(String::new, |dir| dir.display().to_string());
        let folder = if folder.is_empty() { String::from(".") } else { folder };
        let error =
            ErrorBody::new(ErrorCode::RuntimeError, format!("The file could not be written: {error}."))
                .next_step(format!("ls -ld {}", shell_quote(&folder)));
        return verb::fail(session, &Response::new("local", None, Err(error)));
    }
    if session.is_json {
        let mut response = response;
        let written = ExportPart { text: String::new(), output: Some(path.clone()), ..last };
        response.result = Some(json!({ "export": written }));
        session.out.json(&response);
    } else {
        session.out.text(&format!("wrote {} bytes of {} to {path}\n", text.len(), last.handle));
    }
    0
}

fn part_of(response: &Response) -> Option<ExportPart> {
    let result = response.result.clone().filter(|_| response.ok)?;
    serde_json::from_value::<ExportedTerminal>(result).ok().map(|reply| reply.export)
}

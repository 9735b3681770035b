//! Skill guides: what an agent reads to use orca. They are part of the binary, so they always match
//! it, and no server is asked.

pub(super) mod install;

use crate::base::near::nearest;
use crate::base::text::{cut_chars, one_line};
use crate::cli::args::invalid;
use crate::cli::verb::Session;
use crate::proto::error::ErrorBody;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use install::Ground;
pub use install::Installation;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

struct Topic {
    name: &'static str,
    aliases: &'static [&'static str],
    /// With its front matter, as agents keep it.
    markdown: &'static str,
    /// Name and text of each reference.
    references: &'static [(&'static str, &'static str)],
}

const TOPICS: &[Topic] = &[
    Topic {
        name: "orca-cli",
        aliases: &["orca", "cli"],
        markdown: include_str!("../../../../assets/skills/orca-cli.md"),
        references: &[],
    },
    Topic {
        name: "orchestration",
        aliases: &["orca-orchestration"],
        markdown: include_str!("../../../../assets/skills/orchestration.md"),
        references: &[
            ("messages", include_str!("../../../../assets/skills/orchestration/messages.md")),
            ("placement", include_str!("../../../../assets/skills/orchestration/placement.md")),
            ("recovery", include_str!("../../../../assets/skills/orchestration/recovery.md")),
        ],
    },
];

/// `orca skills …`.
#[derive(Debug, Subcommand)]
pub enum Skills {
    /// List the guides.
    List(SkillsListArgs),
    /// Print a guide.
    #[command(visible_alias = "show")]
    Get(SkillsGetArgs),
    /// Copy guides to where agents look for them.
    Install(install::SkillsInstallArgs),
    /// Refresh the copies.
    Update(install::SkillsUpdateArgs),
}

/// Lists the guides that this binary holds.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca skills list\n\nWith --json it prints the list itself, without the envelope."
)]
pub struct SkillsListArgs {}

/// Prints a guide, with or without its references.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  orca skills get orchestration --full\n\nWith --json it prints the guide's object itself, without the envelope."
)]
pub struct SkillsGetArgs {
    /// The guide.
    #[arg(value_parser = topics())]
    topic: String,
    /// Append all references.
    #[arg(long, conflicts_with_all = ["reference", "references"])]
    full: bool,
    /// Print this reference instead.
    #[arg(long, value_name = "NAME", conflicts_with = "references")]
    reference: Option<String>,
    /// List the references instead.
    #[arg(long)]
    references: bool,
}

/// The names of the guides, so that shells can complete them.
fn topics() -> PossibleValuesParser {
    TOPICS.iter().map(|topic| PossibleValue::new(topic.name).aliases(topic.aliases)).into()
}

/// Runs a skills verb; with `--json` the bare objects of contract 2.4.
pub fn run(skills: &Skills, session: &mut Session<'_>) -> u8 {
    let (is_json, out) = (session.is_json, &mut session.out);
    let cwd = session.origin.cwd.as_deref().map_or(session.home, Path::new);
    let ground = Ground { home: session.home, cwd };
    let installation = match skills {
        Skills::List(_) => return out.bare(is_json, &list(), Topics::text),
        Skills::Get(args) => match get(args) {
            Ok(got) => return out.bare(is_json, &got, Got::text),
            Err(error) => Err(error),
        },
        Skills::Install(args) => install::install(args, ground),
        Skills::Update(args) => install::update(args, ground),
    };
    match installation {
        Ok(done) if done.is_bare() => out.bare(is_json, &done, Installation::text),
        Ok(done) => out.local(is_json, &done, Installation::text),
        Err(error) => super::fail_local(error, is_json, out),
    }
}

impl Topic {
    /// The files of a copy: their paths in its folder, and their texts.
    fn files(&self) -> impl Iterator<Item = (String, &'static str)> {
        let references = self.references.iter().map(|(name, text)| (format!("references/{name}.md"), *text));
        std::iter::once((String::from("SKILL.md"), self.markdown)).chain(references)
    }
}

/// The guide of this name or alias.
fn topic(name: &str) -> Result<&'static Topic, ErrorBody> {
    let found = TOPICS.iter().find(|topic| topic.name == name || topic.aliases.contains(&name));
    found.ok_or_else(|| {
        let names: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
        unknown("guide", name, &names).next_step("orca skills list")
    })
}

/// The reply of `skills list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Topics {
    topics: Vec<Described>,
}

/// A guide in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct Described {
    name: &'static str,
    description: String,
}

/// The reply of `skills get`.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Got {
    Guide { name: &'static str, full: bool, markdown: String },
    Reference { name: &'static str, reference: &'static str, markdown: &'static str },
    References { name: &'static str, references: Vec<&'static str> },
}

impl Topics {
    fn text(&self) -> String {
        let line = |topic: &Described| format!("{:<14} {}\n", topic.name, topic.description);
        self.topics.iter().map(line).collect()
    }
}

impl Got {
    fn text(&self) -> String {
        match self {
            Self::Guide { markdown, .. } => markdown.clone(),
            Self::Reference { markdown, .. } => (*markdown).to_owned(),
            Self::References { references, .. } => {
                references.iter().map(|name| format!("{name}\n")).collect()
            }
        }
    }
}

fn list() -> Topics {
    let topics = TOPICS
        .iter()
        .map(|topic| Described { name: topic.name, description: header(topic.markdown, "description") });
    Topics { topics: topics.collect() }
}

fn get(args: &SkillsGetArgs) -> Result<Got, ErrorBody> {
    let topic = topic(&args.topic)?;
    let names: Vec<&str> = topic.references.iter().map(|(name, _)| *name).collect();
    if args.references {
        return Ok(Got::References { name: topic.name, references: names });
    }
    if let Some(wanted) = &args.reference {
        let wanted = wanted.strip_prefix("references/").unwrap_or(wanted);
        let wanted = wanted.strip_suffix(".md").unwrap_or(wanted);
        let found = topic.references.iter().find(|(name, _)| *name == wanted);
        let (name, markdown) = found.ok_or_else(|| {
            unknown("reference", wanted, &names)
                .next_step(format!("orca skills get {} --references", topic.name))
        })?;
        return Ok(Got::Reference { name: topic.name, reference: name, markdown });
    }
    let mut markdown = body(topic.markdown).to_owned();
    if args.full {
        for (_, reference) in topic.references {
            markdown.push('\n');
            markdown.push_str(reference);
        }
    }
    Ok(Got::Guide { name: topic.name, full: args.full, markdown })
}

fn unknown(what: &str, given: &str, known: &[&str]) -> ErrorBody {
    let shown = cut_chars(&one_line(given), 60);
    let near = nearest(given, known.iter().copied());
    let hint = near.map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
    let there = if known.is_empty() { String::from("none") } else { known.join(", ") };
    invalid(format!("There is no {what} {shown:?}; there are: {there}.{hint}")).with("available", known)
}

/// One value of the guide's front matter.
fn header(markdown: &str, key: &str) -> String {
    let lines = markdown.lines().skip(1).take_while(|line| *line != "---");
    let value = lines.filter_map(|line| line.split_once(": ")).find(|(name, _)| *name == key);
    value.map(|(_, value)| one_line(value)).unwrap_or_default()
}

/// The guide without its front matter.
fn body(markdown: &str) -> &str {
    markdown
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(markdown, |(_, body)| body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(topic: &str) -> SkillsGetArgs {
        SkillsGetArgs { topic: topic.to_owned(), full: false, reference: None, references: false }
    }

    #[test]
    fn the_core_guide_is_short_enough_to_be_read() {
        let got = get(&args("orchestration")).unwrap();
        let text = got.text();
        assert!(text.chars().count() <= 8_000, "{}", text.chars().count());
        assert!(text.starts_with("# "), "the front matter is for tools, not for agents");
        assert!(matches!(got, Got::Guide { full: false, .. }));
    }

    #[test]
    fn references_are_found_by_every_spelling() {
        for spelling in ["recovery", "recovery.md", "references/recovery.md"] {
            let found = get(&SkillsGetArgs { reference: Some(spelling.to_owned()), ..args("orchestration") });
            assert!(matches!(found.unwrap(), Got::Reference { reference: "recovery", .. }));
        }
    }

    #[test]
    fn unknown_names_say_what_there_is() {
        let error = get(&args("nonsense\u{1b}[2J")).unwrap_err();
        assert!(error.message.contains("orca-cli, orchestration"), "{}", error.message);
        assert!(!error.message.contains('\u{1b}'));
    }
}

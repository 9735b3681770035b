//! Skill guides: what an agent reads to use orca. They are part of the binary, so they always match
//! it, and no server is asked.

use crate::base::code::ErrorCode;
use crate::cli::out::Out;
use crate::proto::error::ErrorBody;
use clap::{Args, Subcommand};
use serde_json::json;

struct Topic {
    name: &'static str,
    markdown: &'static str,
    /// Name and text of each reference.
    references: &'static [(&'static str, &'static str)],
}

const TOPICS: &[Topic] = &[
    Topic { name: "orca-cli", markdown: include_str!("../../../assets/skills/orca-cli.md"), references: &[] },
    Topic {
        name: "orchestration",
        markdown: include_str!("../../../assets/skills/orchestration.md"),
        references: &[
            ("messages", include_str!("../../../assets/skills/orchestration/messages.md")),
            ("placement", include_str!("../../../assets/skills/orchestration/placement.md")),
            ("recovery", include_str!("../../../assets/skills/orchestration/recovery.md")),
        ],
    },
];

/// `orca skills …`.
#[derive(Debug, Subcommand)]
pub enum Skills {
    /// List the guides.
    List,
    /// Print a guide.
    #[command(visible_alias = "show")]
    Get(SkillsGetArgs),
}

/// Prints a guide, with or without its references.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  orca skills get orchestration --full")]
pub struct SkillsGetArgs {
    /// The guide, for example `orchestration`.
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

/// Runs a skills verb; with `is_json` the bare objects of contract 2.4.
pub fn run(skills: &Skills, is_json: bool, out: &mut Out<'_>) -> u8 {
    let answer = match skills {
        Skills::List => Ok(list()),
        Skills::Get(args) => get(args),
    };
    match answer {
        Ok((value, _)) if is_json => out.json(&value),
        Ok((_, text)) => out.data(&text),
        Err(error) => return super::fail_local(error, is_json, out),
    }
    0
}

type Printed = (serde_json::Value, String);

fn list() -> Printed {
    let described: Vec<(&str, String)> =
        TOPICS.iter().map(|topic| (topic.name, header(topic.markdown, "description"))).collect();
    let topics: Vec<_> =
        described.iter().map(|(name, text)| json!({"name": name, "description": text})).collect();
    let lines: Vec<String> = described.iter().map(|(name, text)| format!("{name:<14} {text}\n")).collect();
    (json!({ "topics": topics }), lines.concat())
}

fn get(args: &SkillsGetArgs) -> Result<Printed, ErrorBody> {
    let topic = TOPICS.iter().find(|topic| topic.name == args.topic).ok_or_else(|| {
        let names: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
        unknown("guide", &args.topic, &names).next_step("orca skills list")
    })?;
    let names: Vec<&str> = topic.references.iter().map(|(name, _)| *name).collect();
    if args.references {
        let lines: Vec<String> = names.iter().map(|name| format!("{name}\n")).collect();
        return Ok((json!({"name": topic.name, "references": names}), lines.concat()));
    }
    if let Some(wanted) = &args.reference {
        let wanted = wanted.strip_prefix("references/").unwrap_or(wanted);
        let wanted = wanted.strip_suffix(".md").unwrap_or(wanted);
        let found = topic.references.iter().find(|(name, _)| *name == wanted);
        let (name, markdown) = found.ok_or_else(|| {
            unknown("reference", wanted, &names)
                .next_step(format!("orca skills get {} --references", topic.name))
        })?;
        return Ok((
            json!({"name": topic.name, "reference": name, "markdown": markdown}),
            (*markdown).to_owned(),
        ));
    }
    let mut markdown = body(topic.markdown).to_owned();
    if args.full {
        for (_, reference) in topic.references {
            markdown.push('\n');
            markdown.push_str(reference);
        }
    }
    Ok((json!({"name": topic.name, "full": args.full, "markdown": markdown}), markdown.clone()))
}

fn unknown(what: &str, given: &str, known: &[&str]) -> ErrorBody {
    let given = crate::base::text::cut_chars(&crate::base::text::one_line(given), 60);
    ErrorBody::new(
        ErrorCode::InvalidArgument,
        format!("There is no {what} {given:?}; there are: {}.", known.join(", ")),
    )
    .with("available", known)
}

/// One value of the guide's front matter.
fn header(markdown: &str, key: &str) -> String {
    let lines = markdown.lines().skip(1).take_while(|line| *line != "---");
    let value = lines.filter_map(|line| line.split_once(": ")).find(|(name, _)| *name == key);
    value.map(|(_, value)| crate::base::text::one_line(value)).unwrap_or_default()
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
        let (value, text) = get(&args("orchestration")).unwrap();
        assert!(text.chars().count() <= 8_000, "{}", text.chars().count());
        assert!(text.starts_with("# "), "the front matter is for tools, not for agents");
        assert_eq!(value["full"], false);
    }

    #[test]
    fn references_are_found_by_every_spelling() {
        for spelling in ["recovery", "recovery.md", "references/recovery.md"] {
            let found = get(&SkillsGetArgs { reference: Some(spelling.to_owned()), ..args("orchestration") });
            assert_eq!(found.unwrap().0["reference"], "recovery");
        }
    }

    #[test]
    fn unknown_names_say_what_there_is() {
        let error = get(&args("nonsense\u{1b}[2J")).unwrap_err();
        assert!(error.message.contains("orca-cli, orchestration"), "{}", error.message);
        assert!(!error.message.contains('\u{1b}'));
    }
}

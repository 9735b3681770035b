//! The scripts of a repository: showing them, this machine's settings for them, and a person's word on
//! their texts. A script of a repository runs only once a person approved its exact text (design 11).

use super::caller;
use super::cx::{Answer, Cx};
use super::error::{OpError, invalid, refuse};
use super::look::{self, Look, Seen, Sight};
use super::repo::git_repo;
use super::{reply, setup};
use crate::base::code::ErrorCode;
use crate::base::text;
use crate::model::event::{EventKind, Fact};
use crate::model::repo::{AgentStartup, CommandSource, HookSettings, Repo, SetupRunPolicy};
use crate::model::setup::{self as rules, Project, Script, ScriptOrigin, Setup, Tab};
use crate::proto::repo::{
    EffectiveHooks, Hooks, HooksApprove, HooksDecided, HooksReject, HooksSet, HooksShow, ScriptRow,
};

/// The longest script of this machine, in bytes.
const MAX_SCRIPT_BYTES: usize = 64 << 10;
/// The most approvals that are remembered for a repository.
const MAX_APPROVED: usize = 200;
/// The fewest digits of a hash that name a text.
const MIN_HASH_DIGITS: usize = 12;

/// `repo hooks show`.
pub fn show(cx: &mut Cx<'_>, call: HooksShow) -> Result<Answer, OpError> {
    let repo = git_repo(cx, call.repo.as_deref())?;
    match project(cx, &repo)? {
        Ok(project) => reply(&hooks(cx, &repo, project)?),
        Err(answer) => Ok(answer),
    }
}

/// What `orca.yaml` says where new worktrees begin, or the answer that asks to look.
fn project(cx: &mut Cx<'_>, repo: &Repo) -> Result<Result<Project, Answer>, OpError> {
    let look = Look::Project { repo: repo.path.clone(), base: repo.worktree_base_ref.clone() };
    match look::look(cx, look)? {
        Sight::Seen(Seen::Project(project)) => Ok(Ok(project)),
        Sight::Seen(_) => Err(look::mismatch()),
        Sight::Ask(answer) => Ok(Err(answer)),
    }
}

fn hooks(cx: &Cx<'_>, repo: &Repo, shared: Project) -> Result<Hooks, OpError> {
    let settings = &repo.hook_settings;
    let rows = |shared: Option<&str>, local: Option<&str>| {
        let chosen = rules::chosen(settings.command_source, shared, local);
        chosen.into_iter().map(|script| row(script, settings)).collect()
    };
    Ok(Hooks {
        repo_id: repo.id.clone(),
        effective: EffectiveHooks {
            setup: rows(shared.setup.as_deref(), settings.setup_script.as_deref()),
            archive: rows(shared.archive.as_deref(), settings.archive_script.as_deref()),
            tabs: rules::tabs(settings.command_source, &shared)
                .iter()
                .filter_map(|tab| Some(row(tab.script()?, settings)))
                .collect(),
            setup_run_policy: settings.setup_run_policy.unwrap_or(SetupRunPolicy::RunByDefault),
            agent_startup: rules::startup(None, settings, &shared),
            command_source: settings.command_source,
        },
        local: settings.clone(),
        waiting: waiting(cx, repo)?.into_iter().map(|script| row(script, settings)).collect(),
        shared,
    })
}

fn row(script: Script, settings: &HookSettings) -> ScriptRow {
    ScriptRow {
        hash: script.hash(),
        is_approved: script.may_run(&settings.approved),
        origin: script.origin,
        text: script.text,
    }
}

/// The texts that worktrees wait for.
fn waiting(cx: &Cx<'_>, repo: &Repo) -> Result<Vec<Script>, OpError> {
    let mut found: Vec<Script> = Vec::new();
    for setup in cx.tx.list::<Setup>("waiting", repo.id.as_str(), usize::MAX)? {
        for script in setup.unapproved(&repo.hook_settings.approved) {
            if !found.contains(script) {
                found.push(script.clone());
            }
        }
    }
    Ok(found)
}

/// `repo hooks set`.
pub fn set(cx: &mut Cx<'_>, call: HooksSet) -> Result<Answer, OpError> {
    caller::resolve(cx, call.from.as_deref(), None)?;
    let given = [
        &call.setup_script,
        &call.archive_script,
        &call.setup_run_policy,
        &call.agent_startup,
        &call.command_source,
    ];
    if given.into_iter().all(Option::is_none) {
        return Err(invalid("Nothing to change: give at least one of the flags."));
    }
    let mut repo = git_repo(cx, call.repo.as_deref())?;
    let before = repo.hook_settings.clone();
    let settings = &mut repo.hook_settings;
    change(&mut settings.setup_script, call.setup_script, |text| own_script("--setup-script", text))?;
    change(&mut settings.archive_script, call.archive_script, |text| own_script("--archive-script", text))?;
    change(&mut settings.setup_run_policy, call.setup_run_policy, |word| {
        SetupRunPolicy::parse(&word)
            .ok_or_else(|| invalid("--setup-run-policy must be ask, run-by-default or skip-by-default."))
    })?;
    change(&mut settings.agent_startup, call.agent_startup, |word| {
        AgentStartup::parse(&word)
            .ok_or_else(|| invalid("--agent-startup must be start-immediately or wait-for-setup."))
    })?;
    change(&mut settings.command_source, call.command_source, |word| {
        CommandSource::parse(&word)
            .ok_or_else(|| invalid("--command-source must be shared-only, local-only or run-both."))
    })?;
    let project = match project(cx, &repo)? {
        Ok(project) => project,
        Err(answer) => return Ok(answer),
    };
    if repo.hook_settings != before {
        cx.tx.put(&repo)?;
        cx.emit(Fact::new(EventKind::RepoChanged, format!("{}: its scripts' settings", repo.display_name)))?;
    }
    reply(&hooks(cx, &repo, project)?)
}

/// Changes a setting where a value is given; `null` clears it.
fn change<T>(
    setting: &mut Option<T>,
    given: Option<String>,
    read: impl FnOnce(String) -> Result<T, OpError>,
) -> Result<(), OpError> {
    match given.as_deref() {
        None => {}
        Some("null") => *setting = None,
        Some(_) => *setting = given.map(read).transpose()?,
    }
    Ok(())
}

fn own_script(flag: &str, script: String) -> Result<String, OpError> {
    if script.trim().is_empty() || script.len() > MAX_SCRIPT_BYTES || script.contains('\0') {
        return Err(invalid(format!(
            "{flag} must be 1 to {MAX_SCRIPT_BYTES} bytes of text; null clears it."
        )));
    }
    Ok(script)
}

/// `repo hooks approve`.
pub fn approve(cx: &mut Cx<'_>, call: HooksApprove) -> Result<Answer, OpError> {
    decide(cx, call.repo.as_deref(), call.hash.as_deref(), Verdict::Approved)
}

/// `repo hooks reject`.
pub fn reject(cx: &mut Cx<'_>, call: HooksReject) -> Result<Answer, OpError> {
    decide(cx, call.repo.as_deref(), call.hash.as_deref(), Verdict::Rejected)
}

/// A person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Approved,
    Rejected,
}

fn decide(
    cx: &mut Cx<'_>,
    selector: Option<&str>,
    hash: Option<&str>,
    verdict: Verdict,
) -> Result<Answer, OpError> {
    let caller = caller::resolve(cx, None, None)?;
    if let Some(terminal) = caller.terminal.filter(|terminal| terminal.agent.is_some()) {
        let message = format!(
            "What a repository runs is approved by a person, not by the agent in {}; it is in their inbox.",
            terminal.id
        );
        return Err(refuse(ErrorCode::HooksNotApproved, message).next_step("orca repo hooks show").into());
    }
    let mut repo = git_repo(cx, selector)?;
    let project = match project(cx, &repo)? {
        Ok(project) => project,
        Err(answer) => return Ok(answer),
    };
    let mut known = waiting(cx, &repo)?;
    let tabs: Vec<Script> = project.default_tabs.iter().filter_map(Tab::script).collect();
    let scripts = [project.setup, project.archive].into_iter().flatten();
    let scripts = scripts.map(|text| Script { origin: ScriptOrigin::Shared, text });
    for script in scripts.chain(tabs) {
        if !known.contains(&script) {
            known.push(script);
        }
    }
    let script = named(&repo, &known, hash, verdict)?;
    let hash = script.hash();
    let approved = &mut repo.hook_settings.approved;
    approved.retain(|known| *known != hash);
    let word = match verdict {
        Verdict::Approved => {
            approved.push(hash.clone());
            let n_over = approved.len().saturating_sub(MAX_APPROVED);
            approved.drain(..n_over);
            "approved"
        }
        Verdict::Rejected => "rejected",
    };
    cx.tx.put(&repo)?;
    let detail = format!("{}: a script {word} ({})", repo.display_name, setup::short(&hash));
    cx.emit(Fact::new(EventKind::HooksDecided, detail))?;
    // What asked the person for this text is answered.
    setup::mark_decided(cx, |asked| asked["hash"] == hash)?;
    let n_released = setup::decided(cx, &repo, &hash, verdict == Verdict::Approved)?;
    reply(&HooksDecided { script: row(script, &repo.hook_settings), n_released })
}

/// The text that the call names; without a name it is told which there are, in full.
fn named(repo: &Repo, known: &[Script], hash: Option<&str>, verdict: Verdict) -> Result<Script, OpError> {
    let wanted = hash.unwrap_or_default();
    let is_long_enough = wanted.len() >= MIN_HASH_DIGITS;
    if let Some(script) = known.iter().find(|script| is_long_enough && script.hash().starts_with(wanted)) {
        return Ok(script.clone());
    }
    let show = format!("orca repo hooks show --repo id:{}", repo.id);
    if known.is_empty() {
        return Err(refuse(ErrorCode::SelectorNotFound, "The repository has no script to decide about.")
            .next_step(show)
            .into());
    }
    let said = match hash {
        None => String::from("Say with --hash which text."),
        Some(hash) => format!("No script has the hash {:?}.", text::cut_chars(&text::one_line(hash), 70)),
    };
    let texts: Vec<String> =
        known.iter().map(|script| format!("{}:\n{}", setup::short(&script.hash()), script.text)).collect();
    let message = format!("{said} There are:\n\n{}", texts.join("\n\n"));
    let mut body = refuse(ErrorCode::InvalidArgument, message).next_step(show);
    for script in known {
        let command = setup::approve_command(repo, &script.hash());
        body = body.next_step(match verdict {
            Verdict::Approved => command,
            Verdict::Rejected => command.replace(" approve ", " reject "),
        });
    }
    Err(body.into())
}

//! The setup of a new worktree: begun when the worktree stands, run in a terminal of its own once every
//! text of the repository in it is approved, and over with the status of that terminal's process. What
//! waits for it goes on from here, whoever asked for the worktree.

use super::cx::Cx;
use super::error::{OpError, invalid, refuse};
use super::mail::{self, NewMessage};
use super::terminal::create::{self, NewTerminal};
use super::worker::chain;
use super::worktree::stand;
use super::{settle, terminal};
use crate::base::code::ErrorCode;
use crate::base::id::{DispatchId, RunId, TerminalId};
use crate::base::text;
use crate::model::dispatch::Dispatch;
use crate::model::effect::{CreateWorktree, Effect, NewCheckout};
use crate::model::event::{EventKind, Fact};
use crate::model::message::{Mailbox, Message, MessageType, Priority};
use crate::model::repo::{AgentStartup, Repo};
use crate::model::setup::{self as rules, Project, Setup, SetupChoice, SetupState};
use crate::model::terminal::{Terminal, TerminalLife};
use crate::model::worker::Worker;
use crate::model::worktree::Worktree;
use crate::store::tx::Tx;
use serde_json::{Value, json};

/// What the calls say about setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub choice: SetupChoice,
    pub startup: Option<AgentStartup>,
}

/// Reads `--setup` and `--agent-startup`.
pub fn asked(setup: Option<&str>, default: SetupChoice, startup: Option<&str>) -> Result<Asked, OpError> {
    let choice = match setup {
        None => default,
        Some(word) => {
            SetupChoice::parse(word).ok_or_else(|| invalid("--setup must be run, skip or inherit."))?
        }
    };
    let startup = match startup {
        None => None,
        Some(word) => Some(
            AgentStartup::parse(word)
                .ok_or_else(|| invalid("--agent-startup must be start-immediately or wait-for-setup."))?,
        ),
    };
    Ok(Asked { choice, startup })
}

/// Where the repository wants a decision each time and the call makes none: refuses, if there is a script
/// to decide about.
pub fn check_decided(
    cx: &Cx<'_>,
    wish: &CreateWorktree,
    project: &Project,
    asked: Asked,
) -> Result<(), OpError> {
    let Some(repo) = cx.tx.get::<Repo>(wish.repo_id.as_str())? else { return Ok(()) };
    let settings = &repo.hook_settings;
    let local = settings.setup_script.as_deref();
    let scripts = rules::chosen(settings.command_source, project.setup.as_deref(), local);
    if rules::runs(asked.choice, settings).is_some() || scripts.is_empty() {
        return Ok(());
    }
    let message =
        "This repository has a setup script and wants a decision on it: say --setup run or --setup skip.";
    Err(refuse(ErrorCode::SetupUndecided, message)
        .with("effectsApplied", false)
        .next_step(format!("orca repo hooks show --repo id:{}", repo.id))
        .into())
}

/// Begins the setup of a worktree that was just made. `then` is what opens in it, where no attempt waits.
pub fn begin(
    cx: &mut Cx<'_>,
    worktree: &Worktree,
    made: &NewCheckout,
    asked: Asked,
    dispatch: Option<&Dispatch>,
    then: Option<Value>,
) -> Result<Setup, OpError> {
    let repo = repo_of(cx, worktree)?;
    let settings = &repo.hook_settings;
    let project = &made.project;
    let local = settings.setup_script.as_deref();
    let scripts = rules::chosen(settings.command_source, project.setup.as_deref(), local);
    let mut warnings = made.warnings.clone();
    warnings
        .extend(project.problem.iter().map(|problem| format!("{problem}; the whole file was left aside.")));
    let mut setup = Setup {
        worktree_id: worktree.id.clone(),
        repo_id: repo.id.clone(),
        dispatch_id: dispatch.map(|dispatch| dispatch.id.clone()),
        source: project
            .source
            .clone()
            .filter(|_| project.setup.is_some())
            .unwrap_or_else(|| String::from("this machine")),
        state: SetupState::NotConfigured,
        startup: rules::startup(asked.startup, settings, project),
        terminal_id: None,
        warnings,
        then,
        tabs: rules::tabs(settings.command_source, project).to_vec(),
        created_at: cx.now,
        ended_at: None,
        scripts,
    };
    if setup.scripts.is_empty() {
        cx.tx.put(&setup)?;
        return Ok(setup);
    }
    // Without a decision (it was made undecided while the worktree was) nothing runs.
    if rules::runs(asked.choice, settings) != Some(true) {
        setup.state = SetupState::Skipped;
        cx.tx.put(&setup)?;
        return Ok(setup);
    }
    if setup.unapproved(&settings.approved).is_empty() {
        return run(cx, setup);
    }
    setup.state = SetupState::AwaitingApproval;
    cx.tx.put(&setup)?;
    ask_person(cx, &repo, &setup, worktree)?;
    Ok(setup)
}

fn repo_of(cx: &Cx<'_>, worktree: &Worktree) -> Result<Repo, OpError> {
    let repo = cx.tx.get::<Repo>(worktree.repo_id.as_str())?;
    repo.ok_or_else(|| OpError::Bug(format!("{} is not there", worktree.repo_id)))
}

/// The command that approves a text.
pub fn approve_command(repo: &Repo, hash: &str) -> String {
    format!("orca repo hooks approve --repo id:{} --hash {}", repo.id, short(hash))
}

/// The command that shows what a setup waits for, and how to decide about it.
pub fn show_command(setup: &Setup) -> String {
    format!("orca {}", show_argv(setup).join(" "))
}

/// The same without the program.
pub fn show_argv(setup: &Setup) -> Vec<String> {
    let mut argv = ["repo", "hooks", "show", "--repo"].map(str::to_owned).to_vec();
    argv.push(format!("id:{}", setup.repo_id));
    argv
}

/// The setup of an attempt's worktree, while it waits for a person.
pub fn waiting(tx: &Tx, worker: &Worker) -> Result<Option<Setup>, OpError> {
    if worker.state.is_settled() || worker.setup_state != SetupState::AwaitingApproval.as_str() {
        return Ok(None);
    }
    let Some(worktree) = &worker.worktree_id else { return Ok(None) };
    Ok(tx.get::<Setup>(worktree)?.filter(|setup| setup.state == SetupState::AwaitingApproval))
}

/// Enough of a hash to tell texts apart.
pub fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}

/// Puts the texts that nobody approved before the person, with the commands that decide.
fn ask_person(cx: &mut Cx<'_>, repo: &Repo, setup: &Setup, worktree: &Worktree) -> Result<(), OpError> {
    for script in setup.unapproved(&repo.hook_settings.approved) {
        let hash = script.hash();
        let waiting = match setup.holds_agent() {
            true => "Its agent starts once this is decided.",
            false => "Its agent works already; the script runs once this is decided.",
        };
        let body = format!(
            "The new worktree {} of {} has a setup script ({}) whose text nobody approved. {waiting}\n\nApprove it: {}\nGo on without it: {}\n\n{}",
            worktree.display_name,
            repo.display_name,
            setup.source,
            approve_command(repo, &hash),
            approve_command(repo, &hash).replace(" approve ", " reject "),
            script.text
        );
        mail::post(
            cx,
            NewMessage {
                run_id: run_of(cx, setup)?,
                dispatch_id: setup.dispatch_id.clone(),
                from_handle: String::from("orca"),
                mailbox: Mailbox::User,
                subject: format!("May the setup script of {} run?", repo.display_name),
                body,
                kind: MessageType::DecisionGate,
                priority: Priority::High,
                thread_id: None,
                payload: Some(json!({ "repoId": repo.id, "worktreeId": setup.worktree_id, "hash": hash })),
                sender_pane_key: None,
            },
        )?;
    }
    Ok(())
}

/// The person's unread mail that asked what is decided now, by its payload, asks no more.
pub fn mark_decided(cx: &mut Cx<'_>, is_decided: impl Fn(&Value) -> bool) -> Result<(), OpError> {
    for mut message in cx.tx.list::<Message>("unread", &Mailbox::User.to_string(), usize::MAX)? {
        if message.payload.as_ref().is_some_and(&is_decided) {
            message.is_read = true;
            cx.tx.put(&message)?;
        }
    }
    Ok(())
}

/// The Run that it is for.
pub fn run_of(cx: &Cx<'_>, setup: &Setup) -> Result<Option<RunId>, OpError> {
    match &setup.dispatch_id {
        Some(id) => Ok(cx.tx.get::<Dispatch>(id.as_str())?.map(|dispatch| dispatch.run_id)),
        None => Ok(None),
    }
}

/// Starts the scripts in a terminal of their own.
fn run(cx: &mut Cx<'_>, mut setup: Setup) -> Result<Setup, OpError> {
    let worktree = cx.tx.get::<Worktree>(&setup.worktree_id)?;
    let worktree = worktree.ok_or_else(|| OpError::Bug(format!("{} is not there", setup.worktree_id)))?;
    let repo = repo_of(cx, &worktree)?;
    let id = TerminalId::new(cx.ids);
    let file = format!("{}/terminals/{id}/setup.sh", cx.rules.state_dir);
    let title = format!("setup {}", worktree.display_name);
    let new = NewTerminal {
        title: Some(title.clone()),
        agent: None,
        argv: vec![String::from("bash"), String::from("-e"), file.clone()],
        env: rules::variables(&repo, &worktree.path),
        unset_env: Vec::new(),
        run_id: run_of(cx, &setup)?,
        worktree,
    };
    let mut terminal = create::add(cx, id, new)?;
    terminal.launch.brief_file = Some((file, rules::joined(&setup.scripts)));
    cx.tx.put(&terminal)?;
    cx.request(Effect::SpawnTerminal { terminal_id: terminal.id.clone() }, None, None)?;
    setup.state = SetupState::Running;
    setup.terminal_id = Some(terminal.id.clone());
    cx.tx.put(&setup)?;
    let mut fact = Fact::new(EventKind::SetupBegun, title).of_terminal(&terminal.id);
    fact.run_id = terminal.run_id;
    fact.dispatch_id.clone_from(&setup.dispatch_id);
    cx.emit(fact)?;
    Ok(setup)
}

/// The texts that a person approved may run now, or, where `is_approved` is not so, will not: whatever
/// waits for them in `repo` goes on. Returns how many worktrees did.
pub fn decided(cx: &mut Cx<'_>, repo: &Repo, hash: &str, is_approved: bool) -> Result<usize, OpError> {
    let mut n_decided = 0;
    for mut setup in cx.tx.list::<Setup>("waiting", repo.id.as_str(), usize::MAX)? {
        if !setup.scripts.iter().any(|script| script.hash() == hash) {
            continue;
        }
        if !is_approved {
            n_decided += 1;
            setup.state = SetupState::Skipped;
            ended(cx, setup, None)?;
        } else if setup.unapproved(&repo.hook_settings.approved).is_empty() {
            n_decided += 1;
            let setup = run(cx, setup)?;
            chain::note_setup(cx, &setup)?;
        }
    }
    Ok(n_decided)
}

/// The process of a terminal ended, failed to start or was lost: if it was a setup, that is over.
pub fn terminal_ended(cx: &mut Cx<'_>, terminal: &Terminal, how: &str) -> Result<(), OpError> {
    let Some(mut setup) = cx.tx.first::<Setup>("terminal", terminal.id.as_str())? else { return Ok(()) };
    if setup.state != SetupState::Running {
        return Ok(());
    }
    let is_well = terminal.end.as_ref().is_some_and(|end| end.exit_code == Some(0) && end.signal.is_none());
    // Not by its process id: a short script is over before anybody says that it began.
    setup.state = match is_well {
        true => SetupState::Succeeded,
        false if terminal.life == TerminalLife::Failed => SetupState::SpawnFailed,
        false => SetupState::Failed,
    };
    if is_well {
        // Its output stays readable; a failed one stays on the screen.
        terminal::close::request(cx, &terminal.id, None)?;
    }
    ended(cx, setup, Some(how))
}

/// The setup is over: whoever asked hears of it, and the agent that waited starts, unless setup failed.
fn ended(cx: &mut Cx<'_>, mut setup: Setup, how: Option<&str>) -> Result<(), OpError> {
    setup.ended_at = Some(cx.now);
    cx.tx.put(&setup)?;
    let mut fact = Fact::new(EventKind::SetupEnded, format!("setup {}", setup.state));
    fact.run_id = run_of(cx, &setup)?;
    fact.dispatch_id.clone_from(&setup.dispatch_id);
    fact.terminal_id.clone_from(&setup.terminal_id);
    cx.emit(fact)?;
    if let Some(id) = setup.dispatch_id.clone() {
        tell_run(cx, &setup, &id, how)?;
        return chain::setup_ended(cx, &id, &setup, how.unwrap_or("skipped"));
    }
    stand::setup_ended(cx, &setup)
}

/// Tells the coordinator of an attempt what became of its setup (contract 5.3).
fn tell_run(cx: &mut Cx<'_>, setup: &Setup, id: &DispatchId, how: Option<&str>) -> Result<(), OpError> {
    let Some(dispatch) = cx.tx.get::<Dispatch>(id.as_str())? else { return Ok(()) };
    let task = settle::task_of(cx, &dispatch.task_id)?;
    let is_bad = matches!(setup.state, SetupState::Failed | SetupState::SpawnFailed);
    let handle = setup.terminal_id.as_ref();
    let look = handle.map(|handle| format!("\nIts output: orca terminal read --terminal {handle} --json"));
    let body = format!(
        "The setup script ({}) of the worktree of {id} {}: {}.{}",
        setup.source,
        setup.state,
        how.unwrap_or("a person decided so"),
        look.unwrap_or_default()
    );
    mail::post(
        cx,
        NewMessage {
            run_id: Some(dispatch.run_id.clone()),
            dispatch_id: Some(id.clone()),
            from_handle: String::from("orca"),
            mailbox: Mailbox::Run(dispatch.run_id),
            subject: format!("Setup {} for {id} ({})", setup.state, task.id),
            body,
            kind: MessageType::Status,
            priority: if is_bad { Priority::High } else { Priority::Normal },
            thread_id: None,
            payload: Some(json!({ "dispatchId": id, "setupState": setup.state, "terminalHandle": handle })),
            sender_pane_key: None,
        },
    )
    .map(drop)
}

/// The attempt was stopped: its setup need not go on.
pub fn withdraw(cx: &mut Cx<'_>, worker: &Worker) -> Result<(), OpError> {
    let Some(id) = &worker.worktree_id else { return Ok(()) };
    let Some(mut setup) = cx.tx.get::<Setup>(id)?.filter(Setup::is_open) else { return Ok(()) };
    if setup.dispatch_id.as_ref() != Some(&worker.dispatch_id) {
        return Ok(());
    }
    setup.state = match setup.state {
        SetupState::Running => SetupState::Failed,
        SetupState::AwaitingApproval => SetupState::Skipped,
        other => other,
    };
    setup.ended_at = Some(cx.now);
    cx.tx.put(&setup)?;
    mark_decided(cx, |asked| asked["worktreeId"] == setup.worktree_id && asked["hash"].is_string())?;
    let running = match &setup.terminal_id {
        Some(handle) => cx.tx.get::<Terminal>(handle.as_str())?.filter(terminal::is_alive),
        None => None,
    };
    if let Some(terminal) = running {
        terminal::close::request(cx, &terminal.id, None)?;
    }
    Ok(())
}

/// What a person should know of the setup of a worktree, each on a line of its own.
pub fn warning(cx: &Cx<'_>, setup: &Setup) -> Result<Option<String>, OpError> {
    let mut words = setup.warnings.clone();
    match setup.state {
        SetupState::AwaitingApproval => words.push(String::from(match setup.holds_agent() {
            true => "A person has to approve the setup script; what waits for it starts after that.",
            false => "A person has to approve the setup script; it runs after that.",
        })),
        SetupState::Failed | SetupState::SpawnFailed => {
            let terminal = match &setup.terminal_id {
                Some(handle) => cx.tx.get::<Terminal>(handle.as_str())?,
                None => None,
            };
            let how = terminal.and_then(|terminal| terminal.end).map(|end| end.to_string());
            words.push(format!("The setup script failed: {}.", how.as_deref().unwrap_or("it did not start")));
        }
        SetupState::NotConfigured | SetupState::Skipped | SetupState::Running | SetupState::Succeeded => {}
    }
    Ok(Some(text::many_lines(&words.join("\n"))).filter(|words| !words.is_empty()))
}

/// Commands that decide about what the setup waits for.
pub fn decisions(cx: &Cx<'_>, setup: &Setup) -> Result<Vec<String>, OpError> {
    let Some(repo) = cx.tx.get::<Repo>(setup.repo_id.as_str())? else { return Ok(Vec::new()) };
    let mut commands = vec![show_command(setup)];
    let unapproved = setup.unapproved(&repo.hook_settings.approved);
    commands.extend(unapproved.iter().map(|script| approve_command(&repo, &script.hash())));
    Ok(commands)
}

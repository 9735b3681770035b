//! Worker verbs: [`start`] with its [`place`], the [`chain`] of effects behind it and its [`receipt`];
//! [`end`] (stop, abandon) and [`release`] (release, retain); [`read`] (show, list) of what is [`seen`],
//! and its [`output`]. The brief that makes an agent a worker is put together here, once.

pub mod chain;
pub mod end;
pub mod output;
pub mod place;
pub mod read;
pub mod receipt;
pub mod release;
pub mod seen;
pub mod start;

use super::cx::Cx;
use super::error::{OpError, refuse};
use super::settle;
use crate::agent::launch::{self, LaunchOptions, LaunchPlan, PermissionMode};
use crate::agent::preset::{Preset, PromptMode};
use crate::agent::prompt::{Brief, DependencyResult, DriftNote, preamble};
use crate::base::code::ErrorCode;
use crate::base::id::TerminalId;
use crate::base::{near, text};
use crate::model::dispatch::Dispatch;
use crate::model::run::Run;
use crate::model::task::Task;
use crate::model::worker::Worker;
use crate::proto::error::ErrorBody;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Has changed settings and presets read.
const RESTART: &str = "orca server restart";

/// The preset id of `--agent`, or of the person's default agent.
pub fn known_agent(cx: &Cx<'_>, wanted: Option<&str>) -> Result<String, OpError> {
    let Some(name) = wanted.or(cx.rules.default_agent.as_deref()) else {
        return Err(refuse(
            ErrorCode::AgentUnconfigured,
            "No --agent was given and no default agent is set.",
        )
        .with("known", known(cx))
        .next_step("orca skills get orchestration --reference placement")
        .into());
    };
    let preset = cx.rules.agents.get(name);
    let id = preset.map_or(name, |preset| preset.id.as_str());
    // A built-in agent without what the person wanted to change of it is not what they asked for.
    if let Some(bad) = cx.rules.agents.bad_files().iter().find(|bad| bad.id == id) {
        return Err(refuse(
            ErrorCode::AgentUnconfigured,
            format!("{bad} Mend the file, then restart the server; terminals go on."),
        )
        .with("known", known(cx))
        .next_step(RESTART)
        .into());
    }
    let is_disabled = |id: &str| cx.rules.agent_wishes.get(id).is_some_and(|wishes| wishes.is_disabled);
    match preset {
        Some(preset) if !is_disabled(&preset.id) => Ok(preset.id.clone()),
        Some(preset) => Err(refuse(
            ErrorCode::AgentUnconfigured,
            format!("The agent {} is switched off in the settings.", preset.id),
        )
        .with("known", known(cx))
        .into()),
        None => {
            if let Some(lines) = cx.rules.agents.two_lines(name) {
                return Err(not_set_up(cx, name, lines).into());
            }
            let shown = text::cut_chars(&text::one_line(name), 60);
            let known = known(cx);
            let near = near::nearest(name, known.iter().map(String::as_str));
            let meant = near.map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
            let message = format!(
                "No agent is called {shown:?}.{meant} There are {}; a file of two lines in the agents folder of the settings makes another one, once the server is restarted.",
                known.join(", ")
            );
            Err(refuse(ErrorCode::AgentUnconfigured, message)
                .with("suggestions", near.into_iter().collect::<Vec<_>>())
                .with("known", &known)
                .next_step("orca skills get orchestration --reference placement")
                .into())
        }
    }
}

/// An agent that orca knows by its name only, and the command that sets it up.
fn not_set_up(cx: &Cx<'_>, name: &str, lines: &[&str; 2]) -> ErrorBody {
    let folder = "\"${XDG_CONFIG_HOME:-$HOME/.config}\"/orca/agents";
    let message = format!(
        "The agent {name} is not set up. A file of two lines does it; change its command where {name} is started another way. Terminals go on while the server restarts."
    );
    let step = format!(
        "mkdir -p {folder} && printf '%s\\n' '{}' '{}' > {folder}/{name}.toml && {RESTART}",
        lines[0], lines[1]
    );
    refuse(ErrorCode::AgentUnconfigured, message).with("known", known(cx)).next_step(step)
}

fn known(cx: &Cx<'_>) -> Vec<String> {
    cx.rules.agents.iter().map(|preset| preset.id.clone()).collect()
}

fn preset<'a>(cx: &'a Cx<'_>, id: &str) -> Result<&'a Preset, OpError> {
    cx.rules.agents.get(id).ok_or_else(|| OpError::Bug(format!("the preset {id} is gone")))
}

/// An agent with its model and effort, checked before anything is committed.
pub struct Choice<'a> {
    pub agent: &'a str,
    pub model: Option<&'a str>,
    pub effort: Option<&'a str>,
}

/// Refuses a model or effort that the agent does not take (contract 5.1).
pub fn check_choice(cx: &Cx<'_>, choice: &Choice<'_>) -> Result<(), OpError> {
    launch::check_model(preset(cx, choice.agent)?, choice.model, choice.effort)
        .map_err(|error| refuse(error.code(), format!("{error} {}", error.advice())).into())
}

/// The command line of an agent in a new terminal.
pub fn plan(
    cx: &Cx<'_>,
    choice: &Choice<'_>,
    terminal: &TerminalId,
    brief: Option<&str>,
    is_worker: bool,
) -> Result<LaunchPlan, OpError> {
    let wishes = cx.rules.agent_wishes.get(choice.agent).cloned().unwrap_or_default();
    let is_auto = wishes.is_auto_permission.unwrap_or(cx.rules.is_auto_permission);
    let private_dir = PathBuf::from(&cx.rules.state_dir).join("terminals").join(terminal.as_str());
    let options = LaunchOptions {
        model: choice.model,
        effort: choice.effort,
        permission: if is_auto { PermissionMode::Auto } else { PermissionMode::Manual },
        extra_args: &wishes.args,
        brief,
        is_worker,
        orca: Path::new(&cx.rules.orca_path),
        handle: terminal.as_str(),
        private_dir: &private_dir,
        shell: &cx.rules.shell,
        resume: None,
    };
    launch::plan(preset(cx, choice.agent)?, &options)
        .map_err(|error| refuse(error.code(), format!("{error} {}", error.advice())).into())
}

/// The whole text a worker gets: what it must know of orca, what it builds on, and its Task.
pub fn brief(
    cx: &Cx<'_>,
    run: &Run,
    task: &Task,
    dispatch: &Dispatch,
    handle: &str,
    agent: Option<&str>,
) -> Result<String, OpError> {
    let results = dependency_results(cx, task)?;
    let dependencies: Vec<DependencyResult<'_>> = results.iter().map(Reported::as_result).collect();
    let preset = agent.and_then(|agent| cx.rules.agents.get(agent));
    let drift = worker_of(cx, dispatch)?.and_then(|worker| worker.drift);
    Ok(preamble(&Brief {
        orca: Path::new(&cx.rules.orca_path),
        handle,
        coordinator: run.consumer.as_ref().map_or("user", |consumer| consumer.handle()),
        run_id: run.id.as_str(),
        task_id: task.id.as_str(),
        dispatch_id: dispatch.id.as_str(),
        proof: &dispatch.proof,
        preset,
        exits_when_done: preset.is_some_and(|preset| preset.prompt == PromptMode::None),
        dependencies: &dependencies,
        drift: drift.as_ref().map(|drift| DriftNote {
            base: &drift.base,
            n_behind: drift.n_behind,
            subjects: &drift.subjects,
        }),
        may_dispatch: dispatch.depth < cx.rules.max_depth,
        // The worker's own runs here, whether or not a default one is set.
        agent_of_workers: preset
            .filter(|preset| preset.prompt != PromptMode::None)
            .map(|preset| preset.id.as_str())
            .or(cx.rules.default_agent.as_deref()),
        spec: &task.spec,
    }))
}

/// What the worker of a finished dependency reported.
struct Reported {
    task_id: String,
    subject: String,
    body: String,
    files: Vec<String>,
    branch: Option<String>,
    report_path: Option<String>,
}

impl Reported {
    fn as_result(&self) -> DependencyResult<'_> {
        DependencyResult {
            task_id: &self.task_id,
            subject: &self.subject,
            body: &self.body,
            files: &self.files,
            branch: self.branch.as_deref(),
            report_path: self.report_path.as_deref(),
        }
    }
}

fn dependency_results(cx: &Cx<'_>, task: &Task) -> Result<Vec<Reported>, OpError> {
    let mut results = Vec::new();
    for id in &task.deps {
        let dependency = settle::task_of(cx, id)?;
        let Some(result) = dependency.result else { continue };
        let text = |name: &str| result.get(name).and_then(Value::as_str).map(str::to_owned);
        let files = result.get("filesModified").and_then(Value::as_array);
        results.push(Reported {
            task_id: id.to_string(),
            // A result set by hand is one text.
            subject: text("subject").or_else(|| result.as_str().map(str::to_owned)).unwrap_or_default(),
            body: text("body").unwrap_or_default(),
            files: files
                .map(|f| f.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default(),
            branch: text("branch"),
            report_path: text("reportPath"),
        });
    }
    Ok(results)
}

/// The Worker of an attempt, where it is supervised.
pub fn worker_of(cx: &Cx<'_>, dispatch: &Dispatch) -> Result<Option<Worker>, OpError> {
    Ok(cx.tx.get::<Worker>(dispatch.id.as_str())?)
}

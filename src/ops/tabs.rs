//! The tabs that a repository wants in a new worktree (contract 5.3 `defaultTabs`): a terminal each, behind
//! the agent's where there is one. Like a setup script, a command runs only once a person approved its exact
//! text (design 11); until then its tab is a plain shell, and who asked for the worktree is told.

use super::cx::Cx;
use super::error::OpError;
use super::setup;
use super::terminal::create::{self, NewTerminal};
use crate::base::id::TerminalId;
use crate::base::text;
use crate::model::effect::Effect;
use crate::model::repo::Repo;
use crate::model::setup::{Script, Setup, Tab};
use crate::model::worktree::Worktree;

/// Opens the tabs of a worktree's setup and takes them off it, so that each opens once. Gives their
/// terminals in the order of the file.
pub fn open(cx: &mut Cx<'_>, worktree: &Worktree) -> Result<Vec<TerminalId>, OpError> {
    let Some(mut setup) = cx.tx.get::<Setup>(&worktree.id)? else { return Ok(Vec::new()) };
    let tabs = std::mem::take(&mut setup.tabs);
    let repo = cx.tx.get::<Repo>(worktree.repo_id.as_str())?.filter(|_| !tabs.is_empty());
    let Some(repo) = repo else { return Ok(Vec::new()) };
    let mut opened = Vec::new();
    for (n, tab) in (1..).zip(&tabs) {
        let script = tab.script();
        let may_run = |script: &Script| script.may_run(&repo.hook_settings.approved);
        if let Some(script) = script.as_ref().filter(|script| !may_run(script)) {
            setup.warnings.push(without_command(&repo, tab, script));
        }
        let line = script.filter(may_run).map(|script| script.text);
        let mut new = NewTerminal::shell(worktree.clone(), title_of(tab));
        new.run_id = setup::run_of(cx, &setup)?;
        new.argv = create::argv_of(cx, line.as_deref())?;
        let id = TerminalId::new(cx.ids);
        let mut terminal = create::add(cx, id, new)?;
        terminal.color.clone_from(&tab.color);
        // Panes stand in the order in which they were opened.
        terminal.created_at = cx.now.plus_ms(n);
        cx.tx.put(&terminal)?;
        cx.request(Effect::SpawnTerminal { terminal_id: terminal.id.clone() }, None, None)?;
        opened.push(terminal.id);
    }
    cx.tx.put(&setup)?;
    Ok(opened)
}

/// What its pane is called: as the file says, else by its command.
fn title_of(tab: &Tab) -> String {
    tab.title.clone().or_else(|| tab.command.clone()).unwrap_or_else(|| String::from("shell"))
}

fn without_command(repo: &Repo, tab: &Tab, script: &Script) -> String {
    let shown = |text: &str, max| text::cut_chars(&text::one_line(text), max);
    format!(
        "The tab {:?} is open without its command {:?}, which nobody approved. Once it is, new worktrees run it; in this one you type it yourself. To approve it: {}",
        shown(&title_of(tab), 60),
        shown(&script.text, 120),
        setup::approve_command(repo, &script.hash())
    )
}

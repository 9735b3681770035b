use super::*;
use crate::model::session::TranscriptFormat;
use std::os::unix::fs::symlink;

const SAID: &str =
    "{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"role\":\"user\",\"content\":\"said\"}}\n";

/// A home directory with Claude Code's folder in it.
struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".claude/projects/-w")).unwrap();
        Self { dir }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(below)
    }

    fn write(&self, below: &str, text: &str) {
        std::fs::write(self.path(below), text).unwrap();
    }

    fn find(&self, below: &str, env: &[(&str, &str)]) -> Option<SessionFile> {
        let wish = SessionWish {
            format: TranscriptFormat::Claude,
            path: self.path(below).to_string_lossy().into_owned(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        };
        find(&wish, |name| (name == "HOME").then(|| self.dir.path().as_os_str().to_owned()))
    }

    fn read(&self, below: &str, from: Option<TranscriptPlace>) -> Result<TranscriptPart, TranscriptFault> {
        let text = |below: &str| self.path(below).to_string_lossy().into_owned();
        let (path, root) = (text(below), text(".claude/projects"));
        let format = TranscriptFormat::Claude;
        read(&TranscriptWish { format, path, root, begins_at: 0, ends_at: None, from, limit: 40 })
    }
}

const FILE: &str = ".claude/projects/-w/s.jsonl";

#[test]
fn only_a_file_of_the_agents_own_folder_can_be_a_transcript() {
    let home = Home::new();
    home.write("outside.jsonl", SAID);
    // It need not be there yet, nor its folder.
    assert_eq!(home.find(FILE, &[]).unwrap().n_bytes, 0);
    assert!(home.find(".claude/projects/-new/s.jsonl", &[]).is_some());
    home.write(FILE, SAID);
    let found = home.find(FILE, &[]).unwrap();
    assert_eq!((found.n_bytes, Path::new(&found.path)), (SAID.len() as u64, home.path(FILE).as_path()));
    for outside in ["outside.jsonl", ".claude/s.jsonl", ".claude/projects/-w"] {
        assert_eq!(home.find(outside, &[]), None, "{outside}");
    }
    symlink(home.path("outside.jsonl"), home.path(".claude/projects/-w/link.jsonl")).unwrap();
    symlink(home.path("nowhere.jsonl"), home.path(".claude/projects/-w/dangling.jsonl")).unwrap();
    symlink(home.path(""), home.path(".claude/projects/up")).unwrap();
    for link in ["-w/link.jsonl", "-w/dangling.jsonl", "up/outside.jsonl", "up/new.jsonl"] {
        assert_eq!(home.find(&format!(".claude/projects/{link}"), &[]), None, "{link}");
    }
    // A folder that the person moved is where they put it.
    std::fs::create_dir(home.path("disk")).unwrap();
    std::fs::create_dir(home.path("linked")).unwrap();
    symlink(home.path("disk"), home.path("linked/projects")).unwrap();
    let linked = home.path("linked").to_string_lossy().into_owned();
    let found = home.find("linked/projects/s.jsonl", &[("CLAUDE_CONFIG_DIR", &linked)]).unwrap();
    assert_eq!(Path::new(&found.path), home.path("disk/s.jsonl"));
    // The agent's own environment says where its folder is, before the server's.
    let moved = home.path("moved").to_string_lossy().into_owned();
    std::fs::create_dir_all(home.path("moved/projects")).unwrap();
    let env = [("CLAUDE_CONFIG_DIR", moved.as_str())];
    assert!(home.find("moved/projects/s.jsonl", &env).is_some());
    assert_eq!(home.find(FILE, &env), None);
}

#[test]
fn what_is_put_in_a_transcripts_place_is_not_opened() {
    let home = Home::new();
    let fault = |home: &Home| home.read(FILE, None).unwrap_err();
    assert_eq!(fault(&home), TranscriptFault::None(NoTranscript::Missing));
    home.write("outside.jsonl", SAID);
    symlink(home.path("outside.jsonl"), home.path(FILE)).unwrap();
    assert_eq!(fault(&home), TranscriptFault::None(NoTranscript::Unreadable));
    std::fs::remove_file(home.path(FILE)).unwrap();
    // Another process of the same name waits at the other end; nobody waits for it.
    let made = std::process::Command::new("mkfifo").arg(home.path(FILE)).status().unwrap();
    assert!(made.success());
    assert_eq!(fault(&home), TranscriptFault::None(NoTranscript::Unreadable));
    std::fs::remove_file(home.path(FILE)).unwrap();
    std::fs::create_dir(home.path(FILE)).unwrap();
    assert_eq!(fault(&home), TranscriptFault::None(NoTranscript::Unreadable));
}

#[test]
fn why_there_is_nothing_to_show() {
    let home = Home::new();
    let check = |text: &str, expected: NoTranscript| {
        home.write(FILE, text);
        assert_eq!(home.read(FILE, None), Err(TranscriptFault::None(expected)), "{text:?}");
    };
    check("", NoTranscript::Empty);
    check("{\"type\":\"mode\"}\n", NoTranscript::Empty);
    check(SAID.trim_end(), NoTranscript::Empty);
    check("no json\n", NoTranscript::ParseFailed);
    check(&"x".repeat(9 << 20), NoTranscript::ParseFailed);
}

#[test]
fn the_newest_are_read_first_and_then_what_was_added() {
    let home = Home::new();
    // More than is looked at first, in records that are no messages.
    let other = format!("{{\"type\":\"other\",\"x\":\"{}\"}}\n", "y".repeat(1_000));
    let text = format!("{}{SAID}{}", SAID.repeat(3), other.repeat(600));
    home.write(FILE, &text);
    let first = home.read(FILE, None).unwrap();
    assert_eq!((first.messages.len(), first.is_limited), (4, false));
    assert_eq!(first.next.offset, text.len() as u64);
    let none = home.read(FILE, Some(first.next.clone())).unwrap();
    assert_eq!((none.messages.len(), &none.next), (0, &first.next));

    home.write(FILE, &format!("{text}{SAID}{{\"type\":\"user\""));
    let more = home.read(FILE, Some(first.next.clone())).unwrap();
    assert_eq!((more.messages.len(), more.next.offset), (1, (text.len() + SAID.len()) as u64));
}

#[test]
fn a_file_that_was_written_anew_is_another_source() {
    let home = Home::new();
    home.write(FILE, &SAID.repeat(2));
    let place = home.read(FILE, None).unwrap().next;
    // Shorter, and then as long as before with something else in it.
    home.write(FILE, SAID);
    assert_eq!(home.read(FILE, Some(place.clone())), Err(TranscriptFault::Changed));
    home.write(FILE, &SAID.repeat(2).replace("said", "done"));
    assert_eq!(home.read(FILE, Some(place)), Err(TranscriptFault::Changed));
}

#[test]
fn a_page_that_goes_on_reads_only_so_much_of_a_file() {
    let home = Home::new();
    home.write(FILE, SAID);
    let place = home.read(FILE, None).unwrap().next;
    home.write(FILE, &format!("{SAID}{}\n{SAID}", "x".repeat(9 << 20)));
    let inside = home.read(FILE, Some(place)).unwrap();
    assert!(inside.messages.is_empty() && inside.is_limited && inside.next.is_inside);
    let behind = home.read(FILE, Some(inside.next)).unwrap();
    assert_eq!((behind.messages.len(), behind.is_limited, behind.next.is_inside), (1, false, false));
}

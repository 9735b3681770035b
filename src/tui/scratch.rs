//! Texts that the person's editor shows for a while: private files that go when its pane does.
//!
//! A file whose pane was killed is removed by the next server, see `server::scratch`.

use crate::base::text::shell_quote;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a text into a new private file in `dir`. Gives its path.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn write(dir: &Path, text: &str) -> std::io::Result<String> {
    for number in 1_u32.. {
        let path = dir.join(format!("history-{number}.txt"));
        let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match opened {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path.to_string_lossy().into_owned());
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

/// The command line that shows a file in the editor and removes it afterwards, also when its terminal
/// is closed. For any shell: it runs `sh` itself, because an editor's setting is words for that.
pub fn command(editor: Option<&str>, path: &str) -> String {
    let show = match editor {
        Some(editor) => format!("{editor} \"$1\""),
        None => String::from("if command -v less >/dev/null; then less +G \"$1\"; else more \"$1\"; fi"),
    };
    let script = format!("trap 'rm -f \"$1\"' EXIT; trap 'exit 129' HUP TERM; {show}");
    format!("exec sh -c {} sh {}", shell_quote(&script), shell_quote(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_text_lies_in_a_private_file_of_its_own_and_goes_with_the_editor() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["it's one", "two"].map(|text| write(dir.path(), text).unwrap());
        assert_ne!(paths[0], paths[1]);
        let mode = std::fs::metadata(&paths[0]).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let seen = dir.path().join("seen");
        let command = command(Some(&format!("cat >{} <", seen.display())), &paths[0]);
        let status = std::process::Command::new("sh").arg("-c").arg(&command).status().unwrap();
        assert!(status.success());
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), "it's one");
        assert!(!std::path::Path::new(&paths[0]).exists() && std::path::Path::new(&paths[1]).exists());
    }
}

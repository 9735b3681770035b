use super::*;

const CLAUDE: &[u8] = include_bytes!("../../../tests/fixtures/transcripts/claude.jsonl");
const CLAUDE_MORE: &[u8] = include_bytes!("../../../tests/fixtures/transcripts/claude-more.jsonl");
const CODEX: &[u8] = include_bytes!("../../../tests/fixtures/transcripts/codex.jsonl");

fn whole(bytes: &[u8]) -> Window<'_> {
    Window { bytes, start: 0, begins_inside: false }
}

/// Role and blocks of each message, in short.
fn told(found: &Messages) -> Vec<String> {
    let block = |block: &TranscriptBlock| match block {
        TranscriptBlock::Text { text } => text.clone(),
        TranscriptBlock::ToolCall { name, input } => format!("{name} {input}"),
        TranscriptBlock::ToolResult { output, is_error } => format!("{is_error:?} {output}"),
        TranscriptBlock::ImageRef { media_type, location } => format!("{media_type:?} {location:?}"),
    };
    let message = |message: &TranscriptMessage| {
        let blocks: Vec<String> = message.blocks.iter().map(block).collect();
        format!("{} {}: {}", message.id, message.role, blocks.join(" | "))
    };
    found.messages.iter().map(message).collect()
}

#[test]
fn what_claude_code_writes() {
    let all = [CLAUDE, CLAUDE_MORE].concat();
    let found = newest(TranscriptFormat::Claude, &whole(&all), 40);
    assert_eq!(
        told(&found),
        [
            "u-1 user: Write a.txt. Report with: orca orchestration send --proof … --task-id task_1",
            "m-1 assistant: I will write the file and commit it.",
            "m-2 assistant: Bash {\"command\":\"echo hi > a.txt\",\"description\":\"write\"}",
            "r-1 tool: Some(false) 696fb07 add a.txt",
            "m-3 assistant: All of it is reported.",
            "u-2 user: Look at this. | Some(\"image/png\") None",
            "m-4 assistant: Read {\"file_path\":\"/repo/none\"}",
            "r-2 tool: Some(true) No such file.\n[image]",
        ]
    );
    assert_eq!((found.next, found.is_cut, found.ends_inside), (all.len() as u64, false, false));
    assert!(found.clipping.is_none());
}

#[test]
fn what_codex_writes() {
    let found = newest(TranscriptFormat::Codex, &whole(CODEX), 40);
    assert_eq!(
        told(&found),
        [
            "msg_3 user: Write a.txt. | Some(\"image/jpeg\") None",
            "msg_4 assistant: I will write the file.",
            "fc_1 assistant: exec_command {\"cmd\": \"echo hi > a.txt\", \"yield_time_ms\": 600000}",
            "fco_1 tool: None Chunk ID: 60f657\nWall time: 0.0000 seconds\nProcess exited with code 0\n\
             Original token count: 4\nOutput:\nhi\n",
            "ct_1 assistant: apply_patch *** Begin Patch\n*** End Patch",
            "cto_1 tool: Some(true) patch refused",
            "msg_5 assistant: Done.",
        ]
    );
}

#[test]
fn pages_follow_each_other_without_a_gap_or_a_repetition() {
    let all = [CLAUDE, CLAUDE_MORE].concat();
    let expected = newest(TranscriptFormat::Claude, &whole(&all), 50).messages;
    let (mut at, mut seen) = (0, Vec::new());
    loop {
        let window = Window { bytes: &all[at as usize..], start: at, begins_inside: false };
        let found = following(TranscriptFormat::Claude, &window, 3);
        assert!(found.messages.len() <= 3);
        at = found.next;
        seen.extend(found.messages);
        if !found.is_cut {
            break;
        }
    }
    assert_eq!(seen, expected);
    assert_eq!(at, all.len() as u64);
    let last = newest(TranscriptFormat::Claude, &whole(&all), 3);
    assert_eq!((&last.messages[..], last.is_cut), (&expected[5..], true));
}

#[test]
fn a_record_that_is_still_being_written_is_left_for_the_next_page() {
    let half = &CLAUDE[..CLAUDE.len() - 20];
    let n_whole = half.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for found in [
        newest(TranscriptFormat::Claude, &whole(half), 40),
        following(TranscriptFormat::Claude, &whole(half), 40),
    ] {
        assert_eq!((found.next, found.ends_inside), (n_whole as u64, false));
        assert!(found.clipping.is_none());
    }
}

#[test]
fn what_is_no_record_is_counted_and_costs_only_itself() {
    let said = r#"{"type":"user","uuid":"u","message":{"role":"user","content":"said"}}"#;
    let mut bytes = b"{\"type\":\"user\"\n[]\n\xff\xfe\n\n".to_vec();
    bytes.extend_from_slice(said.as_bytes());
    bytes.extend_from_slice(b"\n{\"type\":\"user\",\"uuid\":\"v\",\"message\":{\"role\":\"user\",\"content\":\"\xe4\\u001b[31m\"}}\n");
    let found = newest(TranscriptFormat::Claude, &whole(&bytes), 40);
    assert_eq!(told(&found), ["u user: said", "v user: \u{fffd}[31m"]);
    assert_eq!(found.clipping.records, 3);
    // What has another shape than it should is no message.
    for odd in [
        r#"{"type":7}"#,
        r#"{"type":"user"}"#,
        r#"{"type":"user","message":[]}"#,
        r#"{"type":"assistant","message":{"content":[7,{"type":"text"},{"type":"new"}]}}"#,
        r#"{"type":"response_item","payload":"x"}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"x"}}"#,
    ] {
        for format in TranscriptFormat::ALL {
            let line = format!("{odd}\n");
            let found = newest(*format, &whole(line.as_bytes()), 40);
            assert_eq!((told(&found).len(), found.n_records), (0, 1), "{odd}");
        }
    }
}

#[test]
fn long_things_are_cut_and_it_is_said() {
    let blocks: Vec<String> =
        (0..9).map(|n| format!(r#"{{"type":"text","text":"{n}{}"}}"#, "ä".repeat(MAX_CHARS))).collect();
    let line = format!("{{\"type\":\"assistant\",\"message\":{{\"content\":[{}]}}}}\n", blocks.join(","));
    let found = newest(TranscriptFormat::Claude, &whole(line.as_bytes()), 40);
    let message = &found.messages[0];
    assert_eq!((message.id.as_str(), message.blocks.len()), ("at-0", MAX_BLOCKS));
    let TranscriptBlock::Text { text } = &message.blocks[0] else { panic!() };
    assert_eq!(text.chars().count(), MAX_CHARS);
    assert_eq!((found.clipping.texts, found.clipping.blocks), (MAX_BLOCKS, 3));

    // The newest page has the newest that fit; a page that goes on stops before what does not.
    let many = line.repeat(50);
    let newest = newest(TranscriptFormat::Claude, &whole(many.as_bytes()), 50);
    let size = serde_json::to_vec(&newest.messages).unwrap().len();
    assert!(newest.is_cut && size <= 512 << 10 && newest.messages.len() < 50, "{size}");
    assert_eq!(newest.messages.last().unwrap().id, format!("at-{}", line.len() * 49));
    let following = following(TranscriptFormat::Claude, &whole(many.as_bytes()), 50);
    assert_eq!(following.next, (following.messages.len() * line.len()) as u64);
    assert!(following.is_cut);
}

#[test]
fn a_record_without_an_end_in_sight_is_passed_and_what_comes_after_it_is_read() {
    let huge = format!("{{\"x\":\"{}", "y".repeat(MAX_RECORD));
    let found = following(TranscriptFormat::Claude, &whole(huge.as_bytes()), 40);
    assert_eq!((found.next, found.ends_inside), (huge.len() as u64, true));
    // Its rest is no record, whatever it looks like.
    let said = r#"{"type":"user","uuid":"u","message":{"role":"user","content":"said"}}"#;
    let rest = format!("{said}\n{said}\n");
    let window = Window { bytes: rest.as_bytes(), start: found.next, begins_inside: true };
    let found = following(TranscriptFormat::Claude, &window, 40);
    assert_eq!((told(&found), found.ends_inside), (vec![String::from("u user: said")], false));
}

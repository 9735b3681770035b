use super::*;

fn size() -> TermSize {
    TermSize::clamped(10, 40)
}

fn keyframe(text: &str) -> Record {
    Record::Keyframe { size: size(), bytes: text.as_bytes().to_vec() }
}

fn output(text: &str) -> Record {
    Record::Output(text.as_bytes().to_vec())
}

fn open(dir: &Path, text: &str) -> Journal {
    Journal::open(dir, 100, size(), text.as_bytes()).unwrap()
}

#[test]
fn what_was_flushed_comes_back_in_order() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(restore(dir.path()), Restored::default());
    let mut journal = open(dir.path(), "k");
    journal.output(b"one").unwrap();
    journal.resize(TermSize::clamped(5, 6));
    journal.note("remark");
    journal.output(b"two").unwrap();
    journal.flush().unwrap();
    journal.output(b"never flushed").unwrap();
    drop(journal);
    let expected = vec![
        keyframe("k"),
        output("one"),
        Record::Resize(TermSize::clamped(5, 6)),
        Record::Note(String::from("remark")),
        output("two"),
    ];
    let restored = restore(dir.path());
    assert_eq!((restored.records, restored.is_cut), (expected, false));
    discard(dir.path());
    assert_eq!(restore(dir.path()), Restored::default());
}

#[test]
fn two_segments_take_turns_and_join_without_the_second_keyframe() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path(), "k0");
    for turn in 1..5 {
        journal.output(&[b'a' + turn; 100]).unwrap();
        assert!(journal.wants_keyframe());
        journal.rotate(size(), format!("k{turn}").as_bytes(), &[]).unwrap();
        assert!(!journal.wants_keyframe());
    }
    journal.output(b"last").unwrap();
    journal.flush().unwrap();
    let records = restore(dir.path()).records;
    assert_eq!(records, [keyframe("k3"), Record::Output(vec![b'e'; 100]), output("last")]);
}

#[test]
fn a_server_that_died_leaves_a_gap_that_the_next_keyframe_bridges() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = open(dir.path(), "k0");
    first.output(b"seen").unwrap();
    first.flush().unwrap();
    drop(first);
    let mut second = open(dir.path(), "k1");
    second.output(b"more").unwrap();
    second.flush().unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k1"), output("more")]);
}

#[test]
fn a_torn_or_damaged_byte_costs_only_what_follows_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path(), "k0");
    journal.output(b"one").unwrap();
    journal.output(b"two").unwrap();
    journal.flush().unwrap();
    let path = segment_path(dir.path(), 0);
    let whole = std::fs::read(&path).unwrap();
    let all = restore(dir.path()).records;
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let restored = restore(dir.path());
        assert!(all.starts_with(&restored.records), "{length}");
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        std::fs::write(&path, &damaged).unwrap();
        let restored = restore(dir.path());
        // A changed turn is no damage that one segment alone could show.
        let is_turn = (MAGIC.len()..HEADER).contains(&at);
        assert!(all.starts_with(&restored.records), "{at}");
        assert!(is_turn || restored.records.len() < all.len(), "{at}");
    }
}

#[test]
fn damage_in_the_older_segment_falls_back_to_the_newer_keyframe() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path(), "k0");
    journal.output(b"old").unwrap();
    journal.rotate(size(), b"k1", &[]).unwrap();
    journal.output(b"new").unwrap();
    journal.flush().unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k0"), output("old"), output("new")]);
    let path = segment_path(dir.path(), 0);
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k1"), output("new")]);
}

#[test]
fn without_rotation_a_segment_stays_bounded_and_the_next_keyframe_heals_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path(), "k0");
    for _ in 0..100 {
        journal.output(&[b'x'; 5_000]).unwrap();
    }
    journal.flush().unwrap();
    let length = std::fs::metadata(segment_path(dir.path(), 0)).unwrap().len();
    assert!(length <= 2 * BUFFER as u64, "{length}");
    assert!(journal.wants_keyframe());
    journal.rotate(size(), b"k1", &[]).unwrap();
    journal.output(b"after").unwrap();
    journal.flush().unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k1"), output("after")]);
}

#[test]
fn a_rotation_that_fails_leaves_a_journal_that_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path(), "k0");
    journal.output(b"kept").unwrap();
    std::fs::create_dir(fresh_path(dir.path())).unwrap();
    assert!(journal.rotate(size(), b"k1", &[]).is_err());
    journal.output(b"not kept").unwrap();
    journal.flush().unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k0"), output("kept")]);
    std::fs::remove_dir(fresh_path(dir.path())).unwrap();
    journal.rotate(size(), b"k2", &[]).unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k2")]);
}

#[test]
fn the_next_server_goes_on_in_the_same_segment() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = open(dir.path(), "k0");
    first.output(b"old").unwrap();
    first.rotate(size(), b"k1", &[]).unwrap();
    first.output(b"one").unwrap();
    first.flush().unwrap();
    drop(first);
    let path = segment_path(dir.path(), 1);
    let torn = [std::fs::read(&path).unwrap(), vec![OUTPUT, 9, 9]].concat();
    std::fs::write(&path, torn).unwrap();
    let restored = restore(dir.path());
    assert!(restored.is_cut);
    let mut second = Journal::resume(dir.path(), 100, restored.position.unwrap()).unwrap();
    second.output(b"two").unwrap();
    second.flush().unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k0"), output("old"), output("one"), output("two")]);
    second.rotate(size(), b"k2", &[]).unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k1"), output("one"), output("two")]);
}

#[test]
fn a_seal_without_a_successor_is_taken_off() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path(), "k0");
    std::fs::create_dir(fresh_path(dir.path())).unwrap();
    assert!(journal.rotate(size(), b"k1", &[]).is_err());
    std::fs::remove_dir(fresh_path(dir.path())).unwrap();
    let position = restore(dir.path()).position.unwrap();
    let mut next = Journal::resume(dir.path(), 100, position).unwrap();
    next.output(b"more").unwrap();
    next.flush().unwrap();
    assert_eq!(restore(dir.path()).records, [keyframe("k0"), output("more")]);
}

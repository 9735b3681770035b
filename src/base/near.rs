//! The word that was probably meant.

/// No word is longer, in bytes, and comparing costs as much as the word is long.
const MAX_WORD: usize = 100;

/// The nearest of `known` to `given`, if one is near enough to be meant.
///
/// Case and `_` for `-` do not count; a whole part of a longer name, such as `start` of
/// `worker-start`, is near.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    equally_near(given, known).first().copied()
}

/// All that are as near as the nearest, in their order.
pub fn equally_near<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if given.len() > MAX_WORD {
        return Vec::new();
    }
    let given = plain(given);
    let limit = ((given.chars().count() + 1) / 3).max(1);
    let rank = |name: &&str| {
        let name = plain(name);
        let is_part = given.len() > 2 && name.split('-').any(|part| part == given);
        if is_part { limit } else { distance(&given, &name) }
    };
    let ranked: Vec<(usize, &str)> =
        known.into_iter().map(|name| (rank(&name), name)).filter(|(rank, _)| *rank <= limit).collect();
    let least = ranked.iter().map(|(rank, _)| *rank).min();
    ranked.into_iter().filter(|(rank, _)| Some(*rank) == least).map(|(_, name)| name).collect()
}

fn plain(name: &str) -> String {
    name.trim_start_matches('-').to_ascii_lowercase().replace('_', "-")
}

/// Letters to change, add, drop or swap with their neighbour to come from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let change = rows[i][j] + usize::from(a != b);
            let mut least = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_that_was_meant() {
        let known = ["run-create", "run-list", "task-list", "worker-start", "worker-stop", "send"];
        let check =
            |given: &str, expected: Option<&str>| assert_eq!(nearest(given, known), expected, "{given}");
        check("run-creat", Some("run-create"));
        check("RUN_CREATE", Some("run-create"));
        check("taks-list", Some("task-list"));
        check("start", Some("worker-start"));
        check("worker-stpo", Some("worker-stop"));
        check("snd", Some("send"));
        check("xyz", None);
        check("", None);
        check("\u{1b}[2J", None);
        let flags = ["--full", "--reference", "--references"];
        assert_eq!(equally_near("--referencs", flags), ["--reference", "--references"]);
    }
}

//! The model test: sequences of commands by several callers, workers' reports right, late, double and
//! foreign, outcomes, ends of processes, restarts and a clock that jumps, played on the product and on a
//! reference written from the documents. After every step both answer alike and are in the same state.
//!
//! A failure prints the shrunk list of steps as a transcript. `PROPTEST_CASES=1000 cargo test --release
//! --test it model` tries more.

pub mod drive;
mod post;
mod read;
mod rules;
pub mod seen;
mod step;
mod verbs;
mod work;

use drive::Play;
use proptest::prelude::prop;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use step::Step;

/// Plays a case; a failure is told with all that was played before it.
fn play(steps: &[Step]) -> Result<(), String> {
    let mut play = Play::new();
    catch_unwind(AssertUnwindSafe(|| steps.iter().for_each(|step| play.play(step)))).map_err(|panic| {
        let why = panic.downcast_ref::<String>().cloned();
        let why = why.or_else(|| panic.downcast_ref::<&str>().map(|why| String::from(*why)));
        format!("{}\n\n{}", play.log.join("\n"), why.unwrap_or_default())
    })
}

/// Leaves out whatever is not needed to fail, in ever smaller pieces, and tells the failure of the rest.
fn shrink(mut steps: Vec<Step>, mut failure: String) -> String {
    let mut n_left_out = steps.len() / 2;
    while n_left_out > 0 {
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + n_left_out).min(steps.len()));
            match play(&fewer) {
                Err(same) => (steps, failure) = (fewer, same),
                Ok(()) => at += n_left_out,
            }
        }
        n_left_out /= 2;
    }
    failure
}

#[test]
fn the_product_follows_the_rules() {
    let mut config = Config { failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 6;
    }
    let stories = prop::collection::vec(step::step(), 200..240);
    let failed = TestRunner::new(config).run(&stories, |story| {
        play(&story).map_err(|failure| {
            // The panics on the way are told once, at the end.
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| {}));
            let failure = shrink(story, failure);
            std::panic::set_hook(hook);
            TestCaseError::fail(failure)
        })
    });
    if let Err(TestError::Fail(failure, _)) = failed {
        panic!("{failure}");
    }
}

//! What exists and what may happen: the nouns, their states and the legal transitions. Pure.
//!
//! Nothing here does I/O, reads a clock or makes an id. `ops` asks these types for the next state
//! and writes what they answer. In reading order: a [`run`] has [`task`]s; each attempt at one is a
//! [`dispatch`], whose supervised side is a [`worker`] with a terminal [`resource`] and a [`session`]; they talk by
//! [`message`]s in frozen [`delivery`] batches, ask [`question`]s and wait at [`gate`]s; [`plan`]
//! holds the decisions over several of them; [`event`]s say what happened and [`effect`]s what the
//! world must do.

pub mod delivery;
pub mod dispatch;
pub mod effect;
pub mod event;
pub mod fleet;
pub mod gate;
pub mod limit;
pub mod message;
pub mod plan;
pub mod question;
pub mod repo;
pub mod request;
pub mod resource;
pub mod run;
pub mod session;
pub mod setup;
pub mod task;
pub mod terminal;
pub mod worker;
pub mod worktree;

/// A transition that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The noun, for example `task`.
    pub noun: &'static str,
    /// The state it is in.
    pub state: &'static str,
    /// What was asked of it.
    pub input: &'static str,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a {} that is {} cannot {}", self.noun, self.state, self.input)
    }
}

impl std::error::Error for Refused {}

/// Makes a plain enum whose variants have one stable text each, used in JSON and on the screen.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The stable text.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Reads the stable text.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use words;

//! What the world must do.

use super::command::Inbox;
use crate::base::id::EffectId;
use crate::model::effect::OpenEffect;

#[derive(Debug)]
pub struct Effects {
    pub inbox: Inbox,
}

impl Effects {
    pub fn begin(&self, _open: OpenEffect) {}
    pub fn forget(&self, _id: &EffectId) {}
}

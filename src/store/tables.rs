//! Every table: key, value, who writes it, what its order means.

use redb::TableDefinition;

/// Rows and their indices. The key is the noun's id, or `<a>\0<b>` for composite ones; the value is
/// what `codec` writes.
pub(super) type RowTable = TableDefinition<'static, &'static str, &'static [u8]>;
/// Index entries: `<index>\0<value>\0<order>\0<row key>` (or `<index>\0<value>` when unique) to row key.
pub(super) type IndexTable = TableDefinition<'static, &'static str, &'static str>;

/// Counters and singletons: `schema`, `store`, `sequence`, `user_run`.
pub(super) const META: RowTable = TableDefinition::new("meta");
/// The event log by sequence number. Append only.
pub(super) const EVENTS: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("events");
/// `task\0<task id>\0<seq>` to sequence number, for the attempt timeline.
pub(super) const EVENTS_BY: TableDefinition<'static, &'static str, u64> = TableDefinition::new("events_by");

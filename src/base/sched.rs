//! How the system's scheduler treats the thread that asks.
//!
//! A key passes four threads of ours before its echo is seen, while a flooding program and the threads that
//! draw it keep every processor busy. Linux lets a thread ask for short turns (`sched_attr(2)`, 6.12 and
//! later): it is given the same share, and is let in sooner when it wakes. Elsewhere nothing happens; no
//! rights are needed, and not getting it costs nothing but time.

/// How much a thread has to do at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It waits for a person and is done soon.
    Keys,
    /// It has much to do and keeps nobody waiting: what it wakes up for interrupts nobody.
    Flood,
    /// As the system has it; threads and programs that are started inherit theirs from who starts them.
    Usual,
}

/// Sets the class of the thread that calls.
pub fn set(class: Class) {
    #[cfg(target_os = "linux")]
    linux::set(class);
    #[cfg(not(target_os = "linux"))]
    let _ = class;
}

#[cfg(target_os = "linux")]
mod linux {
    use super::Class;

    /// The shortest turn that the system grants.
    const SHORT_NS: u64 = 100_000;

    /// The policy and turn for a class; a turn of 0 is the system's own.
    fn wish(class: Class) -> (i32, u64) {
        match class {
            Class::Keys => (libc::SCHED_OTHER, SHORT_NS),
            Class::Flood => (libc::SCHED_BATCH, 0),
            Class::Usual => (libc::SCHED_OTHER, 0),
        }
    }

    pub fn set(class: Class) {
        let Some(mut now) = get() else { return };
        let (policy, runtime) = wish(class);
        // Whoever gave this process another policy meant it.
        if ![libc::SCHED_OTHER, libc::SCHED_BATCH].map(i32::cast_unsigned).contains(&now.sched_policy) {
            return;
        }
        (now.sched_policy, now.sched_runtime) = (policy.cast_unsigned(), runtime);
        put(&now);
    }

    #[allow(unsafe_code)]
    fn get() -> Option<libc::sched_attr> {
        let mut attr = libc::sched_attr {
            size: 0,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        // SAFETY: the kernel writes at most as many bytes as it is told that there are.
        let result =
            unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size_of_val(&attr), 0) };
        (result == 0).then_some(attr)
    }

    #[allow(unsafe_code)]
    fn put(attr: &libc::sched_attr) {
        // SAFETY: the kernel reads as many bytes as `size` says, which it wrote itself.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(attr), 0) };
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_pace_changes_the_turns_and_not_the_rank() {
            let before = get().unwrap();
            for class in [Class::Keys, Class::Flood, Class::Keys, Class::Usual] {
                set(class);
                let after = get().unwrap();
                assert_eq!(after.sched_policy, wish(class).0.cast_unsigned(), "{class:?}");
                assert_eq!(after.sched_nice, before.sched_nice, "{class:?}");
                // Older systems have no turns of a thread's own, and tell of none.
                if class == Class::Keys && before.sched_runtime > 0 {
                    assert_eq!(after.sched_runtime, SHORT_NS);
                }
            }
            assert_eq!(get().unwrap().sched_runtime, before.sched_runtime);
        }
    }
}

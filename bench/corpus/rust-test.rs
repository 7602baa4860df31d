use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

pub struct TokenBucket {
    state: Mutex<State>,
    available: Condvar,
    rejected: AtomicU64,
    capacity: f64,
    refill_per_second: f64,
}

struct State {
    tokens: f64,
    updated: Instant,
}

impl TokenBucket {
    pub fn new(capacity: f64, refill_per_second: f64) -> Arc<Self> {
        assert!(capacity > 0.0 && refill_per_second > 0.0, "both must be positive");
        Arc::new(Self {
            state: Mutex::new(State { tokens: capacity, updated: Instant::now() }),
            available: Condvar::new(),
            rejected: AtomicU64::new(0),
            capacity,
            refill_per_second,
        })
    }

    fn refill(&self, state: &mut State, now: Instant) {
        let elapsed = now.saturating_duration_since(state.updated).as_secs_f64();
        state.tokens = (state.tokens + elapsed * self.refill_per_second).min(self.capacity);
        state.updated = now;
    }

    pub fn try_take(&self, amount: f64) -> bool {
        let mut state = self.state.lock().expect("a holder of the lock panicked");
        self.refill(&mut state, Instant::now());
        if state.tokens >= amount {
            state.tokens -= amount;
            true
        } else {
            self.rejected.fetch_add(1, Ordering::Relaxed);
            false
        }
    }

    pub fn take(&self, amount: f64, timeout: Duration) -> Option<Duration> {
        let started = Instant::now();
        let mut state = self.state.lock().ok()?;
        loop {
            self.refill(&mut state, Instant::now());
            if state.tokens >= amount {
                state.tokens -= amount;
                return Some(started.elapsed());
            }
            let missing = Duration::from_secs_f64((amount - state.tokens) / self.refill_per_second);
            let left = timeout.checked_sub(started.elapsed())?;
            state = self.available.wait_timeout(state, missing.min(left)).ok()?.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_bucket_refuses() {
        let bucket = TokenBucket::new(1.0, 0.001);
        assert!(bucket.try_take(1.0));
        assert!(!bucket.try_take(1.0));
    }
}

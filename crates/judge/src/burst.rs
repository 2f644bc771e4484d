//! Whether the throughput fell to a lower level and stayed there, or moved between two levels, as it does when burst
//! credits run out or something throttles the server.
//!
//! In: a Run. Out: `burst`. Must never: take a drift, a wave, the scatter of the seconds or a maintenance for a level.
//!
//! The levels are found as those of a history of runs ([`change_points`]), whose test assumes no distribution. Its
//! figures are medians of equal parts of the window, because seconds depend on their neighbours. Seconds of parts
//! depend on each other too, so a significant change is only a candidate: the fall must be large, happen at once, and
//! lie between two parts that are each flat.

use crate::checks::{Finding, new_finding};
use crate::client::check_throttled;
use crate::foreign_load::describe_rival;
use crate::formatting::{percent, thousands};
use crate::observations::{events, rows};
use crate::statistics::{change_points, levels_between, median};
use crate::steady::per_second_rates;
use crate::thresholds::{
    BURST_ALPHA, BURST_EVENT_MIN_SHARE, BURST_FLAT_MAX_SHARE, BURST_MAX_PARTS,
    BURST_MIN_FALL_SHARE, BURST_SHARP_MIN_SHARE, BURST_SPREAD_MAX_SHARE, severity_of_effect,
};
use prony_store::{EventKind, Run, Second, Severity};

/// Work of the server that lowers the throughput while it lasts.
const SLOWING_EVENTS: [EventKind; 6] = [
    EventKind::Backup,
    EventKind::Checkpoint,
    EventKind::IndexBuild,
    EventKind::TableRebuild,
    EventKind::Vacuum,
    EventKind::Analyze,
];

pub(crate) struct LevelFall {
    /// When it happened, seconds from the start of the window.
    pub at_s: f64,
    /// When the lower level ended; `None` if it lasted to the end of the window.
    pub until_s: Option<f64>,
    /// The level before it, transactions per second.
    pub from: f64,
    /// The level after it, transactions per second.
    pub to: f64,
    /// How many times the throughput fell like this.
    pub count: usize,
    /// Share of the window at the lower level.
    pub low_share: f64,
}

pub(crate) fn check_burst(run: &Run) -> Option<Finding> {
    let fall = find_fall(run)?;
    let effect = (1.0 - fall.to / fall.from) * 2.0 * fall.low_share.min(1.0 - fall.low_share);
    let [from, to] = [fall.from, fall.to].map(|tps| thousands(tps.round() as u64));
    let after = match (fall.count, fall.until_s) {
        (1, None) => "and stayed there".to_owned(),
        (1, Some(until_s)) => format!("until {until_s:.0} s"),
        (count, _) => format!("and {} more times later", count - 1),
    };
    let advice = match fall.until_s {
        None => format!(
            "The lower level is what lasts: measure it alone (--warmup {:.0}s), or use a machine and storage without \
             burst limits. The provider's metrics show the credits.",
            (run.window.warmup_s + fall.at_s).ceil() + 10.0
        ),
        Some(_) => "Look for limits of the machine, its storage and its container that apply for some time only; \
                    the provider's metrics show them."
            .to_owned(),
    };
    new_finding(
        severity_of_effect(effect)?.max(Severity::Caveat),
        format!(
            "Likely limit: burst credits or throttling. {:.0} s into the measured window, throughput fell at once by {}, \
             from {from} to {to} transactions per second, {after}.{}",
            fall.at_s,
            percent(1.0 - fall.to / fall.from),
            stolen_text(run, &fall),
        ),
        advice,
    )
}

/// How much more of the server's CPU time the hypervisor must withhold after a fall for a finding to mention it.
const STOLEN_MIN_RISE: f64 = 0.02;

/// A sentence on the CPU time that the hypervisor withheld, which shows CPU credits; empty unless it rose with the fall.
fn stolen_text(run: &Run, fall: &LevelFall) -> String {
    let change_s = run.window.warmup_s + fall.at_s;
    let (mut shares_before, mut shares_after) = (Vec::new(), Vec::new());
    for row in rows(run) {
        let shares = if row.at_s > change_s { &mut shares_after } else { &mut shares_before };
        shares.extend(row.machine.as_ref().and_then(|machine| machine.steal_share));
    }
    if shares_before.is_empty() || shares_after.is_empty() {
        return String::new();
    }
    let (before, after) = (median(&shares_before), median(&shares_after));
    if after <= before + STOLEN_MIN_RISE {
        return String::new();
    }
    format!(
        " The hypervisor withheld {} of the server's CPU time after it, and {} before.",
        percent(after),
        percent(before)
    )
}

/// Consecutive parts between two changes.
#[derive(Clone, Copy)]
struct Level<'a> {
    first: usize,
    parts: &'a [f64],
    median: f64,
}

/// The first fall that looks like a limit; `None` if there is none, or something else explains it.
pub(crate) fn find_fall(run: &Run) -> Option<LevelFall> {
    let seconds = per_second_rates(run, Second::ended)?;
    if check_throttled(run).is_some() {
        return None;
    }
    let per_part = seconds.len().div_ceil(BURST_MAX_PARTS);
    let parts: Vec<f64> = seconds.chunks_exact(per_part).map(median).collect();
    if !falls_at_once(&parts) {
        return None;
    }
    let cuts = change_points(&parts, BURST_ALPHA);
    let levels = levels_between(&cuts, 0..parts.len()).map(|range| Level {
        first: range.start,
        parts: &parts[range.clone()],
        median: median(&parts[range]),
    });
    let levels: Vec<Level<'_>> = levels.collect();
    let falls = (1..levels.len()).filter(|index| {
        let (before, after) = (&levels[index - 1], &levels[*index]);
        is_level_fall(&parts, before, after) && !is_stair(&levels, *index)
    });
    let falls: Vec<usize> = falls.collect();
    let first_fall = *falls.first()?;
    let (before, after) = (&levels[first_fall - 1], &levels[first_fall]);
    let to_s = |part: usize| (part * per_part) as f64;
    let first_low = first_low_part(&parts, before, after);
    let low_level = middle(before, after);
    // The fall may have begun within the part before, and one slow second is not a fall.
    let search_from = first_low.saturating_sub(1) * per_part;
    let mut threes = seconds[search_from..].windows(3);
    let first_slow = threes.position(|three| median(three) < low_level);
    let fall_second = search_from + first_slow.unwrap_or(per_part);
    let end = after.first + after.parts.len();
    let later = levels.iter().filter(|level| level.first >= end);
    let stays = later.clone().all(|level| level.median < low_level);
    let low_parts = parts.iter().filter(|part| **part < low_level).count();
    let fall = LevelFall {
        at_s: fall_second as f64,
        until_s: (!stays).then(|| to_s(end)),
        from: before.median,
        to: after.median,
        count: falls.len(),
        low_share: low_parts as f64 / parts.len() as f64,
    };
    let is_low = |at_s: f64| {
        parts
            .get((at_s / per_part as f64) as usize)
            .is_some_and(|part| *part < low_level)
    };
    let has_rival = !describe_rival(run, is_low).is_empty();
    // One slow period is as likely the work of something that is not observed.
    let is_one_period = fall.count == 1 && fall.until_s.is_some();
    (!has_rival && !is_one_period && !is_maintenance(run, &fall)).then_some(fall)
}

/// Whether the fall to this level is one of several in the same direction: a slope, or a wave.
fn is_stair(levels: &[Level<'_>], index: usize) -> bool {
    let (before, after) = (levels[index - 1].median, levels[index].median);
    let margin = BURST_SPREAD_MAX_SHARE * (before - after);
    let previous = index.checked_sub(2).map(|index| levels[index].median);
    let next = levels.get(index + 1).map(|level| level.median);
    previous.is_some_and(|previous| previous > before + margin)
        || next.is_some_and(|next| next < after - margin)
}

/// The distance between the quartiles, without the parts in which a change may lie.
fn spread(parts: &[f64]) -> f64 {
    let mut inner = match parts {
        [_, inner @ .., _] if inner.len() >= 3 => inner.to_vec(),
        all => all.to_vec(),
    };
    inner.sort_unstable_by(f64::total_cmp);
    let quarter = inner.len() / 4;
    inner[inner.len() - 1 - quarter] - inner[quarter]
}

/// The rate between two levels.
fn middle(before: &Level<'_>, after: &Level<'_>) -> f64 {
    (before.median + after.median) / 2.0
}

/// The first part of the lower level: ranks place a cut up to two parts away from it.
fn first_low_part(parts: &[f64], before: &Level<'_>, after: &Level<'_>) -> usize {
    let from = after.first.saturating_sub(2).max(before.first);
    let until = (after.first + 2).min(parts.len() - 1);
    let mut near = from..until;
    near.find(|part| parts[*part] < middle(before, after))
        .unwrap_or(after.first)
}

/// Whether any two parts are as far below two earlier ones as a fall must be, with one part between them, within which
/// the fall may lie. Few runs without a fall have such parts: most are spared the test of the levels.
fn falls_at_once(parts: &[f64]) -> bool {
    parts.windows(5).any(|five| {
        let (before, after) = (median(&five[..2]), median(&five[3..]));
        before - after >= BURST_SHARP_MIN_SHARE * BURST_MIN_FALL_SHARE * before
    })
}

/// Whether the fall is large, happens at once, and lies between two flat levels.
fn is_level_fall(parts: &[f64], before: &Level<'_>, after: &Level<'_>) -> bool {
    let size = before.median - after.median;
    let is_flat = |level: &Level<'_>| {
        let (first, second) = level.parts.split_at(level.parts.len() / 2);
        (median(first) - median(second)).abs() <= BURST_FLAT_MAX_SHARE * size
            && spread(level.parts) <= BURST_SPREAD_MAX_SHARE * size
    };
    // The change may lie within a part.
    let first_low = first_low_part(parts, before, after);
    let just_before =
        median(&parts[first_low.saturating_sub(3)..first_low.saturating_sub(1).max(1)]);
    let just_after = median(&parts[first_low + 1..(first_low + 3).min(parts.len())]);
    size >= BURST_MIN_FALL_SHARE * before.median
        && just_before - just_after >= BURST_SHARP_MIN_SHARE * size
        && is_flat(before)
        && is_flat(after)
}

/// Whether work of the server lasted for most of the time after the fall, and began with it.
fn is_maintenance(run: &Run, fall: &LevelFall) -> bool {
    let fall_s = run.window.warmup_s + fall.at_s;
    let end_s = fall
        .until_s
        .map_or(run.window.warmup_s + run.measured.length_s, |until_s| {
            run.window.warmup_s + until_s
        });
    events(run, &SLOWING_EVENTS).any(|event| {
        let until_s = event.until_s.unwrap_or(end_s).min(end_s);
        let overlap_s = until_s - event.at_s.max(fall_s);
        // The beginning of the event and that of the fall are both known only roughly.
        let margin_s = 0.1 * (end_s - fall_s) + 2.0;
        overlap_s > BURST_EVENT_MIN_SHARE * (end_s - fall_s) && event.at_s > fall_s - margin_s
    })
}

#[cfg(test)]
mod tests;

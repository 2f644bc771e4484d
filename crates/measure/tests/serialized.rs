//! Intervals survive serialisation, on any clock; invalid input is refused.

use prony_measure::{
    BatchScheduling, Collector, ErrorClass, ExcludedTransactions, InFlight, Interval,
    InvalidInterval, Outcome, QueryCounts, RecorderLayout, RunSchedule, Sample, SerializedInterval,
    ServiceTimeParts, SparseInterval, TimestampCounts,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

const S: u64 = 1_000_000_000;
/// Starts of the load on the clocks of two machines.
const START_NS: u64 = 5_000 * S + 17;
const OTHER_START_NS: u64 = 77;

fn schedule(start_ns: u64) -> RunSchedule {
    RunSchedule::seconds(start_ns, 3 * S / 2, Some(4 * S))
}

fn sample() -> impl Strategy<Value = (Sample, Option<String>)> {
    let times = prop_oneof![0..10_000_u64, 0..100 * S, Just(u64::MAX)];
    let outcome = prop_oneof![
        4 => Just(Outcome::Committed),
        1 => Just(Outcome::RolledBack),
        1 => Just(Outcome::Skipped),
        2 => (prop::sample::select(ErrorClass::ALL.to_vec()), any::<[u8; 5]>())
            .prop_map(|(class, code)| Outcome::Failed(class, code)),
    ];
    let parts = prop::option::of((0..S, 0..S, 0..S, any::<bool>()));
    let message = prop::option::of("\\PC{0,30}");
    ((0..2_u16, outcome, times, 0..S, 0..3_u32), parts, message).prop_map(
        |((kind, outcome, response_ns, lag_ns, retries), parts, message)| {
            let sample = Sample {
                kind,
                outcome,
                scheduled_ns: 0,
                started_ns: lag_ns.min(response_ns),
                ended_ns: response_ns,
                connect_ns: lag_ns / 2,
                retries,
                parts: parts.map(
                    |(send_wait_ns, server_ns, client_wait_ns, server_is_upper_bound)| {
                        ServiceTimeParts {
                            send_wait_ns,
                            server_ns,
                            client_wait_ns,
                            server_is_upper_bound,
                        }
                    },
                ),
            };
            (sample, message)
        },
    )
}

fn layout() -> impl Strategy<Value = RecorderLayout> {
    let limit = prop_oneof![Just(u64::MAX), 0..S];
    (any::<[bool; 3]>(), limit).prop_map(
        |([open_loop, has_parts, has_connect_time], latency_limit_ns)| RecorderLayout {
            kinds: 2,
            open_loop,
            has_parts,
            has_connect_time,
            latency_limit_ns,
        },
    )
}

/// An interval of [`schedule`] with figures of this layout.
fn interval(layout: RecorderLayout) -> impl Strategy<Value = Interval> {
    let counts = || vec(0..1_u64 << 48, 7);
    let small_counts = || vec(any::<u32>(), 6);
    let cpu = vec(prop::option::of(any::<u64>()), 3);
    (
        0..7_u32,
        vec(sample(), 0..40),
        (counts(), counts(), counts(), counts()),
        small_counts(),
        cpu,
        any::<u64>(),
    )
        .prop_map(move |(index, samples, counts, small, cpu, large)| {
            let mut interval = Interval::new(schedule(START_NS).span(index), layout);
            for (sample, message) in &samples {
                if let (Outcome::Failed(class, code), Some(message)) = (sample.outcome, message) {
                    interval
                        .errors
                        .store_example(sample.kind, class, code, message);
                }
                interval.record(sample);
            }
            let (excluded, queries, timestamps, others) = counts;
            interval.errors.count_others(others[0]);
            interval.excluded = ExcludedTransactions {
                unfinished: excluded[0],
                in_flight: InFlight {
                    committed: excluded[1],
                    rolled_back: excluded[2],
                    failed: excluded[3],
                    ambiguous: excluded[4],
                    cut_off: excluded[5],
                },
                in_flight_ns: large,
                in_flight_max_ns: large,
                never_started: excluded[6],
                counted_in_later_interval: others[1],
            };
            interval.queries = QueryCounts {
                reads: queries[0],
                writes: queries[1],
                others: queries[2],
                ignored_errors: queries[3],
                reconnects: queries[4],
            };
            interval.timestamps = TimestampCounts {
                usable: timestamps[0],
                missing: timestamps[1],
                impossible: timestamps[2],
                doubtful: timestamps[3],
                clock_steps: timestamps[4],
                send_cost_sum_ns: large,
                transmit_timestamps: timestamps[5],
            };
            let health = &mut interval.health;
            (health.cpu_user_ns, health.cpu_system_ns) = (cpu[0], cpu[1]);
            health.run_queue_ns = cpu[2];
            (health.iterations, health.replies, health.starts_waiting) =
                (others[2], others[3], others[4]);
            health.iteration_max_ns = large;
            (health.connections, health.connections_lost) = (small[0], small[1]);
            health.in_progress = small[2];
            health.batch = BatchScheduling {
                active: small[3],
                reverted: small[4],
                refused: small[5],
            };
            interval
        })
}

fn shape_and_interval() -> impl Strategy<Value = (RecorderLayout, Interval)> {
    layout().prop_flat_map(|layout| (Just(layout), interval(layout)))
}

/// The interval as the machine whose load starts at `OTHER_START_NS` has recorded it.
fn on_other_clock(mut interval: Interval) -> Interval {
    let span = &mut interval.span;
    *span = schedule(OTHER_START_NS).span(span.index);
    interval
}

fn json(interval: &Interval, load_start_ns: u64) -> String {
    let serialized = SerializedInterval::new(interval, load_start_ns);
    serde_json::to_string(&serialized).expect("it has only numbers and text")
}

fn read(text: &str) -> SerializedInterval {
    serde_json::from_str(text).expect("it was serialised")
}

fn dense(received: &SparseInterval, layout: RecorderLayout) -> Interval {
    let mut interval = Interval::new(received.span(), layout);
    received.add_to(&mut interval);
    interval
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_interval_survives_serialisation((layout, interval) in shape_and_interval()) {
        let text = json(&interval, START_NS);
        let same_clock = read(&text).into_interval(START_NS, layout);
        prop_assert_eq!(same_clock.as_ref(), Ok(&interval));
        let end_ns = interval.span.start_ns;
        let received = read(&text).into_interval_of_run(&schedule(START_NS), layout, end_ns);
        prop_assert_eq!(received.map(|received| dense(&received, layout)), Ok(interval.clone()));
        let other = on_other_clock(interval.clone());
        prop_assert_eq!(json(&other, OTHER_START_NS), text);
    }

    #[test]
    fn intervals_of_two_machines_add_up_to_the_row_of_their_workers(
        (layout, first, mut second) in layout()
            .prop_flat_map(|layout| (Just(layout), interval(layout), interval(layout)))
    ) {
        let run = schedule(START_NS);
        // The collector merges the drain into the totals, not into a row.
        let index = first.span.index % 6;
        let first = Interval { span: run.span(index), ..first };
        second.span = run.span(index);

        let mut collector = Collector::new(run, layout, 2);
        (0..index).for_each(|index| {
            collector.add(0, Box::new(Interval::new(run.span(index), layout)));
            collector.add(1, Box::new(Interval::new(run.span(index), layout)));
            collector.next_row().expect("both workers delivered it");
        });
        collector.add(0, Box::new(first.clone()));
        collector.add(1, Box::new(second.clone()));
        let row = collector.next_row().expect("both workers delivered it");

        let now_ns = run.span(index).end_ns;
        let receive = |text: &str| read(text).into_interval_of_run(&run, layout, now_ns);
        let mut sum = dense(&receive(&json(&first, START_NS)).expect("an interval of the run"), layout);
        let other = json(&on_other_clock(second), OTHER_START_NS);
        receive(&other).expect("an interval of the run").add_to(&mut sum);
        prop_assert_eq!(&sum, &*row.interval);
    }

    /// Replacing any value of the input never causes a panic, neither in reading nor in using what was read.
    #[test]
    fn changed_input_never_panics(
        (layout, interval) in shape_and_interval(),
        position in any::<prop::sample::Index>(),
        value in prop::sample::select(vec![
            json!(u64::MAX), json!(i64::MIN), json!(1_u64 << 40), json!(-1), json!(1e300), json!(null),
            json!(""), json!("\u{e9}\u{1f600}123"), json!([]), json!({}), json!("A".repeat(60)),
            json!(u128::MAX.to_string()), json!([u64::MAX]), json!(true),
        ]),
    ) {
        let mut form: Value = serde_json::from_str(&json(&interval, START_NS)).unwrap();
        let mut pointers = Vec::new();
        collect_pointers(&form, String::new(), &mut pointers);
        let pointer = position.get(pointers.as_slice());
        *form.pointer_mut(pointer).unwrap() = value;
        let Ok(form) = serde_json::from_value::<SerializedInterval>(form) else {
            return Ok(());
        };
        if let Ok(received) = form.into_interval_of_run(&schedule(START_NS), layout, u64::MAX) {
            let mut read = dense(&received, layout);
            received.add_to(&mut read);
            read.add(&interval.clone());
            read.add(&read.clone());
            let _ = (read.is_empty(), read.excluded.in_flight.total(), read.queries.all());
            let _ = (read.errors.total(), read.all_kinds().and_then(|all| all.response.quantile_ns(0.5)));
        }
    }
}

fn collect_pointers(value: &Value, at: String, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(list) => {
            let numbered = list.iter().enumerate();
            numbered
                .map(|(index, value)| (index.to_string(), value))
                .collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in children {
        pointers.push(format!("{at}/{key}"));
        collect_pointers(value, format!("{at}/{key}"), pointers);
    }
}

fn one_sample_interval() -> (RecorderLayout, Interval) {
    let layout = RecorderLayout::closed_loop(1);
    let mut interval = Interval::new(schedule(START_NS).span(2), layout);
    interval.record(&Sample {
        kind: 0,
        outcome: Outcome::Committed,
        scheduled_ns: 0,
        started_ns: 0,
        ended_ns: 1_000,
        connect_ns: 0,
        retries: 0,
        parts: None,
    });
    (layout, interval)
}

/// The result of reading [`one_sample_interval`] after a change at a JSON pointer.
fn read_changed(pointer: &str, value: Value) -> Result<Interval, InvalidInterval> {
    let (layout, interval) = one_sample_interval();
    let mut form: Value = serde_json::from_str(&json(&interval, START_NS)).unwrap();
    *form.pointer_mut(pointer).expect(pointer) = value;
    let form: SerializedInterval = serde_json::from_value(form).expect("the types are right");
    let received = form.into_interval_of_run(&schedule(START_NS), layout, START_NS + 9 * S);
    received.map(|received| dense(&received, layout))
}

#[test]
fn counts_that_are_impossible_are_refused() {
    let (_, interval) = one_sample_interval();
    assert_eq!(read_changed("/health/replies", json!(0)), Ok(interval));
    let too_many = json!((1_u64 << 48) + 1);
    for pointer in [
        "/health/iterations",
        "/health/replies",
        "/other_errors",
        "/timestamps/usable",
        "/excluded/unfinished",
        "/excluded/in_flight/cut_off",
        "/queries/others",
        "/kinds/0/counts/2",
    ] {
        let refused = read_changed(pointer, too_many.clone());
        assert!(
            matches!(refused, Err(InvalidInterval::Count(_))),
            "{pointer}: {refused:?}"
        );
    }
    for (pointer, value) in [
        ("/kinds/0/counts/0", json!(2)),
        ("/kinds/0/over_latency_limit", json!(2)),
        ("/kinds/0/retried", json!(1)),
        ("/kinds/0/response/samples", json!(0)),
        ("/kinds/0/response/min_ns", json!(1_001)),
        ("/kinds/0/response/max_ns", json!(999)),
        ("/kinds/0/response/max_ns", json!(5_000)),
        ("/kinds/0/response/sum_ns", json!(u64::MAX)),
        ("/kinds/0/response/squares_ns2", json!(-1.0)),
    ] {
        let refused = read_changed(pointer, value);
        assert!(
            matches!(refused, Err(InvalidInterval::Count(_))),
            "{pointer}: {refused:?}"
        );
    }
    let no_histogram = read_changed("/kinds/0/response/histogram", json!(""));
    assert!(matches!(no_histogram, Err(InvalidInterval::Histogram(_))));
}

#[test]
fn only_intervals_of_the_run_are_accepted() {
    // The collector would reserve a row for each interval before this one.
    for (pointer, value) in [
        ("/span/index", json!(u32::MAX)),
        ("/span/index", json!(3)),
        ("/span/phase", json!("warmup")),
        ("/span/start_ns", json!(0)),
        ("/span/start_ns", json!(u64::MAX)),
        ("/span/start_ns", json!(u64::MAX - 1)),
        ("/span/end_ns", json!(0)),
        ("/span/end_ns", json!(9 * S)),
    ] {
        let refused = read_changed(pointer, value);
        assert!(
            matches!(refused, Err(InvalidInterval::Span(_))),
            "{pointer}: {refused:?}"
        );
    }
    let endless = RunSchedule::seconds(START_NS, 0, None);
    let (layout, mut interval) = one_sample_interval();
    interval.span = endless.span(u32::MAX);
    let form = read(&json(&interval, START_NS));
    let result_if_early = form
        .clone()
        .into_interval_of_run(&endless, layout, START_NS + 9 * S);
    assert_eq!(
        result_if_early.map(|_| ()),
        Err(InvalidInterval::Span("it lies in the future"))
    );
    let now_ns = interval.span.end_ns;
    assert_eq!(
        form.into_interval_of_run(&endless, layout, now_ns)
            .map(|received| dense(&received, layout)),
        Ok(interval)
    );
}

#[test]
fn a_different_shape_is_refused_before_histograms_are_read() {
    let (layout, interval) = one_sample_interval();
    let mut form: Value = serde_json::from_str(&json(&interval, START_NS)).unwrap();
    // 100,000 kinds would need 13 GB.
    let kind = json!({ "counts": [0, 0, 0, 0, 0], "retried": 0, "over_latency_limit": 0, "committed_after_window": 0,
        "busy_ns": 0, "server_times_upper_bound": 0, "response": {
        "samples": 0, "sum_ns": 0, "squares_ns2": 0.0, "min_ns": 0, "max_ns": 0, "histogram": "" } });
    form["kinds"] = Value::Array(vec![kind; 100_000]);
    let form: SerializedInterval = serde_json::from_value(form).unwrap();
    let mut refused = None;
    let allocations = prony_allocations::allocations_of(|| {
        refused = Some(form.into_interval(START_NS, layout));
    });
    assert_eq!(refused, Some(Err(InvalidInterval::Layout)));
    assert!(allocations < 10, "{allocations} allocations");
    let open_loop = RecorderLayout {
        open_loop: true,
        ..layout
    };
    let form = read(&json(&interval, START_NS));
    assert_eq!(
        form.into_interval(START_NS, open_loop),
        Err(InvalidInterval::Layout)
    );
    let error =
        json!([{ "kind": 1, "class": "deadlock", "code": *b"40P01", "count": 1, "example": "" }]);
    assert_eq!(read_changed("/errors", error), Err(InvalidInterval::Layout));
}

#[test]
fn truncated_input_is_an_error() {
    let text = json(&one_sample_interval().1, START_NS);
    for end in 0..text.len() {
        assert!(
            serde_json::from_str::<SerializedInterval>(&text[..end]).is_err(),
            "{end}"
        );
    }
}

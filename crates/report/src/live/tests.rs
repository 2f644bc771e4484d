use super::*;
use crate::sample_run;
use prony_assertions::TextAssertions;

fn shown(style: Style, interval_s: f64) -> String {
    shown_with(style, interval_s, false)
}

fn shown_with(style: Style, interval_s: f64, connect_per_transaction: bool) -> String {
    let outline = RunOutline {
        title: "tpcb, 64 clients on 2 threads".into(),
        warmup_s: 1.0,
        measured_s: Some(4.0),
        clients: 64,
        connect_per_transaction,
    };
    let mut out = Vec::new();
    let mut live = LiveView::new(&mut out, style, outline, interval_s);
    for second in &sample_run::closed().series {
        live.show_second(second).unwrap();
    }
    live.finish().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_file_gets_one_plain_line_per_second() {
    let text = shown(Style::plain(), 1.0);
    assert_eq!(text.lines().count(), 5);
    assert_eq!(
        text.lines().next().unwrap(),
        "1 s warm-up: 27,000 transactions/s, committed p50 2.10 ms, p99 9.00 ms, 0 failed, 64 connections"
    );
    assert!(!text.contains('\x1b'));
    text.lines().nth(1).unwrap().assert_starts_with("2 s: ");
}

#[test]
fn a_p99_over_several_seconds_shows_their_number() {
    let mut second = sample_run::closed().series[1].clone();
    second.p99_ns = None;
    second.rolling = Some(prony_store::RollingPercentiles {
        length_s: 12.0,
        p95_ns: 2_000_000,
        p99_ns: 7_000_000,
    });
    let text = |terminal| {
        let style = Style {
            terminal,
            ..Style::plain()
        };
        let mut out = Vec::new();
        let mut live = LiveView::new(&mut out, style, RunOutline::default(), 1.0);
        live.show_second(&second).unwrap();
        String::from_utf8(out).unwrap()
    };
    text(false).assert_contains("p99 7.00 ms of the last 12 s,");
    text(true).assert_contains(" p99/12 s 7.00 ms ");
}

#[test]
fn connections_opened_per_transaction_are_not_shown() {
    let terminal = Style {
        terminal: true,
        ..Style::plain()
    };
    for style in [Style::plain(), terminal] {
        shown_with(style, 1.0, false).assert_contains("64 connections");
        let text = shown_with(style, 1.0, true);
        text.assert_lacks("connections");
        assert!(
            text.contains("0 failed") || text.contains("failed         0"),
            "{text}"
        );
    }
}

#[test]
fn a_longer_interval_sums_its_seconds() {
    let text = shown(Style::plain(), 2.0);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    lines[0].assert_contains("27,200 transactions/s");
}

#[test]
fn an_interval_of_zero_prints_nothing() {
    assert_eq!(shown(Style::plain(), 0.0), "");
}

#[test]
fn a_terminal_gets_a_view_that_is_removed_at_the_end() {
    let style = Style {
        terminal: true,
        ..Style::plain()
    };
    let text = shown(style, 1.0);
    text.assert_contains("warm-up 1 s of 1 s");
    text.assert_contains("4 s of 4 s");
    let erased = "\r\x1b[2K\n".repeat(7);
    text.assert_ends_with(&format!("\x1b[7A{erased}\x1b[7A\r"));
}

#[test]
fn a_bar_never_overflows() {
    assert_eq!(bar(0.5, 4), "━━──");
    assert_eq!(bar(7.0, 4), "━━━━");
    assert_eq!(bar(-1.0, 4), "────");
}

fn terminal() -> Style {
    Style {
        terminal: true,
        ..Style::plain()
    }
}

fn outline() -> RunOutline {
    RunOutline {
        title: "tpcb, scale 100: 64 clients on 2 threads, prepared protocol".into(),
        warmup_s: 0.0,
        measured_s: Some(300.0),
        clients: 64,
        connect_per_transaction: false,
    }
}

/// Second number `s` of the run and of its server, at a share of the full load.
fn second_at(s: u32, share: f64) -> (Second, ServerSecond) {
    let mut second = sample_run::closed().series[1].clone();
    second.at_s = f64::from(s);
    second.committed = (share * 30_000.0) as u64;
    second.p99_ns = Some((share * 9e6) as u64);
    let server = ServerSecond {
        at_s: f64::from(s) + 0.01,
        length_s: 1.0,
        waits: [("CPU", 9), ("IO/WalSync", 3), ("Lock/tuple\x1b[2J", 12)]
            .map(|(name, count)| (name.to_owned(), count))
            .into(),
        machine: Some(prony_store::MachineSecond {
            busy_share: Some(share),
            ..Default::default()
        }),
        ..ServerSecond::default()
    };
    (second, server)
}

/// The frame after `seconds` seconds.
fn frame(style: &Style, size: Size, seconds: u32) -> Vec<String> {
    let mut state = LiveState::default();
    let mut lines = Vec::new();
    for s in 0..seconds {
        let (mut second, server) = second_at(s, f64::from(s % 10 + 1) / 10.0);
        second.failed = u64::from(s == seconds - 1) * 3;
        state.add_server_second(&server);
        state.add_second(&second);
        lines = state.frame(&outline(), &second, style, size);
    }
    lines
}

#[test]
fn the_last_minute_is_drawn_beside_its_figures() {
    let size = Size {
        columns: 80,
        rows: 24,
    };
    let lines = frame(&terminal(), size, 70);
    let ramp = "▂▂▃▄▅▅▆▆▇█";
    let ramps = ["▂", "▃", "▄", "▅", "▆", "▇", "█"];
    assert_eq!(lines.len(), 9, "{lines:#?}");
    lines[1].assert_contains("70 s of 5 min   64 of 64 connections");
    lines[2].assert_starts_with(" TPS       30,000  ");
    let chart = lines[2].trim_end();
    assert_eq!(chart.chars().count(), 79, "{chart}");
    assert_eq!(chart.matches('█').count(), 6, "{ramp} six times: {chart}");
    assert!(ramps.iter().all(|bar| chart.contains(bar)), "{chart}");
    lines[3].assert_starts_with(" p50 ok   2.10 ms  ██");
    lines[4].assert_starts_with(" p99 ok   9.00 ms  ");
    lines[5].assert_starts_with(" p99 all  9.00 ms  ");
    lines[6].assert_starts_with(" failed         3  ");
    assert!(lines[6].ends_with('█'), "{}", lines[6]);
    lines[7].assert_starts_with(" host CPU   100 %  ");
    // Text from the server cannot control the terminal.
    assert_eq!(lines[8], " waits      Lock/tuple\\x1b[2J 12, IO/WalSync 3");
    let wide = Size {
        columns: 110,
        rows: 24,
    };
    let lines = frame(&terminal(), wide, 70);
    lines[2].assert_ends_with("  max 30,000");
    lines[6].assert_ends_with("  max 3");
}

#[test]
fn percentiles_name_their_population_once_a_transaction_has_failed() {
    let size = Size {
        columns: 80,
        rows: 24,
    };
    let mut state = LiveState::default();
    let (mut second, _) = second_at(0, 1.0);
    state.add_second(&second);
    let before = state.frame(&outline(), &second, &terminal(), size);
    before[4].assert_starts_with(" p99      9.00 ms");
    second.at_s = 1.0;
    second.failed = 7;
    second.attempts_p99_ns = Some(31_000_000);
    state.add_second(&second);
    let after = state.frame(&outline(), &second, &terminal(), size);
    after[4].assert_starts_with(" p99 ok   9.00 ms");
    after[5].assert_starts_with(" p99 all  31.0 ms");
    let mut out = Vec::new();
    let mut live = LiveView::new(&mut out, Style::plain(), RunOutline::default(), 1.0);
    live.show_second(&second).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.assert_contains(
        "committed p50 2.10 ms, p99 9.00 ms, 7 failed (p99 of all attempts 31.0 ms)",
    );
}

/// The sizes of a small split pane, the usual terminal, and a large one.
#[test]
fn the_view_is_useful_at_40_by_12_at_80_by_24_and_at_200_by_60() {
    for (columns, rows, bars) in [(40, 12, 20), (80, 24, 60), (200, 60, 60)] {
        let lines = frame(&terminal(), Size { columns, rows }, 70);
        println!("{columns} x {rows}\n{}", lines.join("\n"));
        // All nine lines fit even the smallest: title, progress, five figures, CPU and waits.
        assert_eq!(lines.len(), 9, "{columns} x {rows}: {lines:#?}");
        let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
        for name in [
            " TPS ",
            " p50 ok ",
            " p99 ok ",
            " p99 all ",
            " failed ",
            " host CPU ",
        ] {
            assert!(has(name), "{columns} x {rows}, {name}: {lines:#?}");
        }
        let progress = "70 s of 5 min   64 of 64 connections";
        lines[1].assert_ends_with(progress);
        let chart = lines[2].chars().filter(|c| ('▁'..='█').contains(c)).count();
        assert_eq!(chart, bars, "{columns} x {rows}: {}", lines[2]);
        let widest = lines
            .iter()
            .map(|line| crate::text::visible_width(line))
            .max();
        assert!(widest < Some(columns), "{columns} x {rows}: {lines:#?}");
        let has_peak = lines[2].ends_with("  max 30,000");
        assert_eq!(has_peak, columns == 200, "{}", lines[2]);
    }
}

#[test]
fn lines_fit_every_terminal_size() {
    for style in [
        terminal(),
        Style {
            color: true,
            ..terminal()
        },
        Style {
            unicode: false,
            ..terminal()
        },
    ] {
        for columns in (1..130).chain([200]) {
            for rows in [1, 2, 4, 7, 12, 24, 60] {
                let lines = frame(&style, Size { columns, rows }, 3);
                assert!(lines.len() < rows.max(2), "{columns} x {rows}: {lines:?}");
                for line in &lines {
                    let width = crate::text::visible_width(line);
                    assert!(width < columns.max(2), "{columns} x {rows}: {line}");
                    assert_eq!(line.contains('\x1b'), style.color && line.contains("\x1b["));
                    assert!(style.unicode || line.is_ascii(), "{line}");
                }
            }
        }
    }
}

#[test]
fn colour_codes_appear_only_with_colour() {
    let size = Size {
        columns: 80,
        rows: 24,
    };
    assert!(
        frame(&terminal(), size, 3)
            .iter()
            .all(|line| !line.contains('\x1b'))
    );
    let coloured = Style {
        color: true,
        ..terminal()
    };
    let lines = frame(&coloured, size, 3);
    let failed = &lines[6];
    failed.assert_starts_with("\x1b[1;31m");
    failed.assert_ends_with("\x1b[0m");
}

#[test]
fn charts_without_unicode_use_ascii_characters() {
    let style = Style {
        unicode: false,
        ..terminal()
    };
    let size = Size {
        columns: 80,
        rows: 24,
    };
    let lines = frame(&style, size, 10);
    assert!(
        lines[2].ends_with(":::=++*%%#") || lines[2].ends_with('#'),
        "{}",
        lines[2]
    );
    lines[1].assert_contains("#--");
}

#[test]
fn messages_stay_above_the_view() {
    let mut out = Vec::new();
    let mut live = LiveView::new(&mut out, terminal(), outline(), 1.0);
    live.show_second(&second_at(0, 0.5).0).unwrap();
    live.print_message("prony: the disk is full").unwrap();
    live.show_second(&second_at(1, 0.5).0).unwrap();
    live.finish().unwrap();
    let text = String::from_utf8(out).unwrap();
    text.assert_contains("\n\x1b[6A\rprony: the disk is full\n\r\x1b[2Ktpcb");
    // No terminal mode is changed: the codes only set colour, move up and erase.
    let codes = text.split("\x1b[").skip(1);
    let command = |code: &str| {
        code.find(|c: char| c.is_ascii_alphabetic())
            .map(|position| code[position..].chars().next())
    };
    assert!(
        codes
            .into_iter()
            .all(|code| matches!(command(code), Some(Some('A' | 'K' | 'm'))))
    );
}

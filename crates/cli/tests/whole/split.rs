//! The split of the response time if most clients use a unix socket.

use crate::common::{Bench, io_engines, ok, parse_run, stderr_text};

#[test]
fn a_sample_over_tcp_splits_the_response_time_of_a_unix_socket() {
    let bench = Bench::new("split");
    ok(&bench.prony("load tpcb --scale 1"));
    for engine in io_engines(&bench) {
        let execute = |options: &str| {
            let arguments =
                format!("run select-only --io {engine} --clients 6 --transactions 2000 {options}");
            let mut command = bench.command(&arguments);
            command.args(["--url", &bench.socket_url]);
            // The unix socket requires no password; the connections over TCP do.
            command.env("PGPASSWORD", &bench.password);
            bench.assert_no_password(command.output().expect("it starts"))
        };
        let run = parse_run(&execute("--tcp-sample 2 --json"));
        let sampled = prony_store::Network::UnixWithTcpSample { clients: 2 };
        assert_eq!(run.drive.network, Some(sampled));
        let source = prony_store::ServiceTimePartsSource::SampledTimestamps {
            clients: 2,
            total_clients: 6,
        };
        assert_eq!(run.timing.parts_source, source);
        let address = &run.server.address;
        assert!(
            matches!(address, Some(prony_store::ServerAddress::Unix(_))),
            "{address:?}"
        );
        let totals = &run.measured.kinds[0];
        let split = totals.parts.as_ref().expect("measured on two clients");
        let parts = [&split.send_wait, &split.server, &split.client_wait];
        for part in parts {
            assert_eq!(part.samples, split.server.samples);
        }
        // Only the transactions of clients with timestamps are split.
        assert!((1..totals.committed).contains(&split.server.samples));
        assert!(split.server.mean_ns > 0.0 && split.server.max_ns <= totals.service.max_ns);
        assert!(run.timing.with_timestamp >= split.server.samples);
        assert!(
            run.timing.without_timestamp > 0,
            "four clients have no timestamps"
        );

        let stdout = ok(&execute("--tcp-sample 2 --full"));
        assert!(stdout.contains("2 of 6 clients"), "{stdout}");
        let run = parse_run(&execute("--json"));
        assert_eq!(run.drive.network, Some(prony_store::Network::Unix));
        assert!(
            run.timing
                .parts_source
                .to_string()
                .starts_with("unavailable: unix sockets"),
            "{}",
            run.timing.parts_source
        );
        assert!(run.measured.kinds[0].parts.is_none());
        assert!(
            ok(&execute("")).contains("--tcp-sample"),
            "the option is suggested"
        );
    }
    // A sample larger than the number of clients is an error.
    let output = bench.prony("run select-only --clients 2 --tcp-sample 3 --transactions 1");
    assert_eq!(output.status.code(), Some(2), "{}", stderr_text(&output));
}

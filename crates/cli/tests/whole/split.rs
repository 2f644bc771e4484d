//! The parts of the service time if most clients use a unix socket.

use crate::common::*;

#[test]
fn a_tcp_sample_measures_the_parts_of_the_service_time_of_a_unix_socket() {
    let bench = TestBench::loaded("split", 1);
    for engine in io_engines(&bench) {
        let execute = |options: &str| {
            let arguments =
                format!("run select-only --io {engine} --clients 6 --transactions 2000 {options}");
            let mut command = bench.command(&arguments);
            command.args(["--url", &bench.socket_url]);
            // Only the connections over TCP require a password.
            command.env("PGPASSWORD", &bench.password);
            bench.execute(&mut command)
        };
        let run = parse_run(&execute("--tcp-sample 2 --json"));
        let network = prony_store::Network::UnixWithTcpSample { clients: 2 };
        assert_eq!(run.drive.network, Some(network));
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
        let totals = total_figures(&run.measured);
        let parts = totals.parts.as_ref().expect("measured on two clients");
        for part in [&parts.send_wait, &parts.server, &parts.client_wait] {
            assert_eq!(part.samples, parts.server.samples);
        }
        // Only the two clients with timestamps measure the parts.
        assert!((1..totals.committed).contains(&parts.server.samples));
        assert!(parts.server.mean_ns > 0.0 && parts.server.max_ns <= totals.service.max_ns);
        assert!(run.timing.with_timestamp >= parts.server.samples);
        assert!(
            run.timing.without_timestamp > 0,
            "four clients have no timestamps"
        );

        let stdout = ok_stdout(&execute("--tcp-sample 2 --full"));
        stdout.assert_contains("2 of 6 clients");
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
        assert!(total_figures(&run.measured).parts.is_none());
        assert!(
            ok_stdout(&execute("")).contains("--tcp-sample"),
            "the option is suggested"
        );
    }
    // A sample larger than the number of clients is an error.
    let output = bench.prony("run select-only --clients 2 --tcp-sample 3 --transactions 1");
    assert_code(&output, 2);
}

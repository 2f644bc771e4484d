//! `prony fleet kubernetes`.
//!
//! Prints an Indexed Job of agents as JSON, which is YAML too. Must never: print a password; a secret is named.

use super::output;
use crate::args::FleetKubernetesArgs;
use crate::exit::{Exit, Failure};
use prony_report::json;
use serde_json::{Value, json};

pub fn print(args: &FleetKubernetesArgs) -> Result<Exit, Failure> {
    if let Some((problem, hint)) = wrong_input(args) {
        return Err(Failure::usage(problem, hint));
    }
    output::show(|out, _| json::write_pretty(out, &manifest(args)))?;
    Ok(Exit::Success)
}

/// What Kubernetes or an agent would refuse only later.
fn wrong_input(args: &FleetKubernetesArgs) -> Option<(String, &'static str)> {
    let is_quantity = |text: &str| {
        let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = &text[number.len()..];
        let units = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
        number.parse::<f64>().is_ok_and(|number| number > 0.0) && units.contains(&unit)
    };
    let is_label = |name: &str| {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let mut bytes = name.bytes();
        name.len() <= 50
            && bytes.next().is_some_and(is_inner)
            && name.bytes().next_back().is_some_and(is_inner)
            && bytes.all(|byte| is_inner(byte) || byte == b'-')
    };
    if !prony_fleet::is_nats(&args.nats) {
        let problem = format!("--nats {} is not the address of a NATS server", args.nats);
        return Some((problem, "such as nats://nats:4222, or tls:// for TLS"));
    }
    if args.nats.contains('@') {
        let hint = "name a secret with --secret, with the keys NATS_USER and NATS_PASSWORD";
        return Some((
            "the manifest would show the log-in of NATS".to_owned(),
            hint,
        ));
    }
    let server = args.nats.split_once("://").map_or("", |(_, server)| server);
    if server.trim_end_matches('/').contains('/') {
        let hint =
            "name the server alone, such as nats://nats:4222: each pod is an agent of its own name";
        return Some(("--nats names an agent".to_owned(), hint));
    }
    for (flag, quantity) in [("--cpus", &args.cpus), ("--memory", &args.memory)] {
        if !is_quantity(quantity) {
            let problem = format!("{flag} {quantity} is not a quantity of Kubernetes");
            return Some((problem, "such as 2 or 500m CPUs, 1Gi of memory"));
        }
    }
    if !is_label(&args.name) {
        let problem = format!("--name {} cannot be the name of a job", args.name);
        return Some((problem, "lower-case letters, digits and -, at most 50"));
    }
    None
}

fn manifest(args: &FleetKubernetesArgs) -> Value {
    let labels = json!({ "app.kubernetes.io/name": args.name, "app.kubernetes.io/component": "prony-agent" });
    // The pods of an Indexed Job have the host names NAME-0, NAME-1 ..., which are those of agents without a name.
    let server = args.nats.trim_end_matches('/');
    let mut container = json!({
        "name": "agent",
        "image": args.image,
        "command": ["/usr/bin/prony", "agent", "--nats", server],
        // Requests that are the limits: the kernel takes no CPU from such a pod for others.
        "resources": {
            "requests": { "cpu": args.cpus, "memory": args.memory },
            "limits": { "cpu": args.cpus, "memory": args.memory },
        },
        // What is measured outlives a container that is restarted, for `prony fleet collect`.
        "env": [{ "name": "PRONY_HOME", "value": "/runs" }],
        "volumeMounts": [{ "name": "measured", "mountPath": "/runs" }],
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
        },
    });
    if let Some(secret) = &args.secret {
        container["envFrom"] = json!([{ "secretRef": { "name": secret } }]);
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": args.name, "labels": labels },
        "spec": {
            "completionMode": "Indexed",
            "completions": args.agents,
            "parallelism": args.agents,
            // An agent that ends is started again: it waits for the next load.
            "backoffLimit": 1_000_000,
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "restartPolicy": "OnFailure",
                    "automountServiceAccountToken": false,
                    "affinity": { "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [{
                            "weight": 100,
                            "podAffinityTerm": {
                                "topologyKey": "kubernetes.io/hostname",
                                "labelSelector": { "matchLabels": labels },
                            },
                        }],
                    }},
                    "volumes": [{ "name": "measured", "emptyDir": {} }],
                    "containers": [container],
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command, FleetCommand};
    use clap::Parser;
    use k8s_openapi::api::batch::v1::Job;

    const RIGHT: &str =
        "prony fleet kubernetes --agents 8 --image registry/prony:0.1 --nats tls://nats:4222/";

    fn parse(line: &str) -> FleetKubernetesArgs {
        match Cli::try_parse_from(line.split_whitespace())
            .expect("valid")
            .command
        {
            Command::Fleet {
                command: FleetCommand::Kubernetes(args),
            } => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_kubernetes_would_refuse_is_refused() {
        let right = parse(&format!(
            "{RIGHT} --name bench-1 --cpus 500m --memory 1.5Gi"
        ));
        assert_eq!(wrong_input(&right), None);
        for (right, wrong) in [
            ("tls://nats:4222/", "http://nats:4222"),
            ("tls://nats:4222/", "nats://a:b@nats:4222"),
            ("tls://nats:4222/", "tls://nats:4222/vm1"),
            ("", " --cpus=many"),
            ("", " --memory=0"),
            ("", " --name=Bench"),
            ("", " --name=-"),
        ] {
            let wrong = match right {
                "" => parse(&format!("{RIGHT}{wrong}")),
                right => parse(&RIGHT.replace(right, wrong)),
            };
            assert!(wrong_input(&wrong).is_some(), "{wrong:?}");
        }
    }

    /// The types are generated from Kubernetes' published schemas; what they do not know is lost.
    #[test]
    fn the_manifest_is_a_job_of_kubernetes_types() {
        let secret = format!("{RIGHT} --name bench --secret bench-login --cpus 4");
        for line in [RIGHT, &secret] {
            let manifest = manifest(&parse(line));
            let job: Job = serde_json::from_value(manifest.clone()).expect("a job");
            assert_eq!(serde_json::to_value(&job).expect("JSON"), manifest);
        }
        let args = parse(&secret);
        let job: Job = serde_json::from_value(manifest(&args)).expect("a job");
        let spec = job.spec.expect("a spec");
        assert_eq!((spec.completions, spec.parallelism), (Some(8), Some(8)));
        assert_eq!(spec.backoff_limit, Some(1_000_000));
        assert_eq!(spec.completion_mode.as_deref(), Some("Indexed"));
        let pod = spec.template.spec.expect("a pod");
        let command = pod.containers[0].command.clone().expect("a command");
        assert_eq!(
            command,
            ["/usr/bin/prony", "agent", "--nats", "tls://nats:4222"]
        );
        let secret = pod.containers[0].env_from.as_ref().expect("a secret")[0]
            .secret_ref
            .as_ref();
        assert_eq!(secret.expect("a reference").name, "bench-login");
        assert!(pod.affinity.expect("affinity").pod_anti_affinity.is_some());
    }
}

//! Redirects the calls that load C code in a static program to `src/static_binary`, which says why.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if features.split(',').any(|feature| feature == "crt-static") {
        for name in ["dlopen", "dlsym", "dlerror", "dlclose"] {
            println!("cargo:rustc-link-arg-bins=-Wl,--wrap={name}");
        }
    }
}

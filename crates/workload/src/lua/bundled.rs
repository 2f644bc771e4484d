//! The bundled scripts, and the search path for others. They are written from scratch and contain no code of sysbench.
//! Never reads the environment.

/// The module names and texts of the scripts.
const SCRIPTS: [(&str, &str); 15] = [
    ("oltp_common", include_str!("bundled/oltp_common.lua")),
    (
        "oltp_read_write",
        include_str!("bundled/oltp_read_write.lua"),
    ),
    ("oltp_read_only", include_str!("bundled/oltp_read_only.lua")),
    (
        "oltp_write_only",
        include_str!("bundled/oltp_write_only.lua"),
    ),
    (
        "oltp_point_select",
        include_str!("bundled/oltp_point_select.lua"),
    ),
    ("oltp_insert", include_str!("bundled/oltp_insert.lua")),
    ("oltp_delete", include_str!("bundled/oltp_delete.lua")),
    (
        "oltp_update_index",
        include_str!("bundled/oltp_update_index.lua"),
    ),
    (
        "oltp_update_non_index",
        include_str!("bundled/oltp_update_non_index.lua"),
    ),
    (
        "select_random_points",
        include_str!("bundled/select_random_points.lua"),
    ),
    (
        "select_random_ranges",
        include_str!("bundled/select_random_ranges.lua"),
    ),
    (
        "oltp_transaction",
        include_str!("bundled/oltp_transaction.lua"),
    ),
    ("random_keys", include_str!("bundled/random_keys.lua")),
    ("bulk_insert", include_str!("bundled/bulk_insert.lua")),
    ("common", include_str!("bundled/common.lua")),
];

/// Returns the text of a bundled script; `None` if none has this name.
pub fn script_text(name: &str) -> Option<&'static str> {
    let script = SCRIPTS.iter().find(|(module, _)| *module == name);
    script.map(|(_, text)| *text)
}

/// The directory in which distributions install sysbench's scripts.
const SYSBENCH_SCRIPT_DIR: &str = "/usr/share/sysbench";

/// Returns the search path for modules and for the tests that a command line names: the default, or
/// `lua_path` (`LUA_PATH`) with `;;` replaced by the default. `home` is the user's home directory.
pub fn search_path(home: Option<&str>, lua_path: Option<&str>) -> String {
    let mut templates = vec![
        "./?.lua".to_owned(),
        "./?/init.lua".to_owned(),
        "./src/lua/?.lua".to_owned(),
    ];
    if let Some(home) = home {
        for folder in ["share/lua/5.1", "share/lua"] {
            templates.push(format!("{home}/.luarocks/{folder}/?.lua"));
            templates.push(format!("{home}/.luarocks/{folder}/?/init.lua"));
        }
    }
    for folder in [
        "/usr/local/share/lua/5.1",
        "/usr/share/lua/5.1",
        SYSBENCH_SCRIPT_DIR,
    ] {
        templates.push(format!("{folder}/?.lua"));
    }
    let default = templates.join(";");
    match lua_path {
        None => default,
        Some(path) => {
            let extended = path.replace(";;", &format!(";{default};"));
            extended.trim_matches(';').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::search_path;
    use prony_assertions::TextAssertions;

    #[test]
    fn lua_path_replaces_or_extends_the_default() {
        let default = search_path(Some("/home/u"), None);
        default.assert_starts_with(
            "./?.lua;./?/init.lua;./src/lua/?.lua;/home/u/.luarocks/share/lua/5.1/?.lua;",
        );
        default.assert_ends_with(";/usr/share/sysbench/?.lua");
        assert_eq!(search_path(None, Some("/a/?.lua")), "/a/?.lua");
        let extended = search_path(None, Some("/a/?.lua;;"));
        extended.assert_starts_with("/a/?.lua;./?.lua;");
        extended.assert_ends_with("sysbench/?.lua");
    }
}

//! The bundled scripts, and the search path for others. They are written from scratch and contain no code of sysbench.
//! Never reads the environment.

/// The module names and texts of scripts.
macro_rules! scripts {
    ($($name:literal,)+) => {
        [$(($name, include_str!(concat!("bundled/", $name, ".lua"))),)+]
    };
}

const SCRIPTS: [(&str, &str); 15] = scripts![
    "oltp_common",
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_insert",
    "oltp_delete",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
    "oltp_transaction",
    "random_keys",
    "bulk_insert",
    "common",
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

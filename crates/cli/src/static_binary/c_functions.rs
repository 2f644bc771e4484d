//! The functions of the C library that a script can call by `ffi.C` in a static program, which has no table of
//! symbols: those that scripts for benchmarks use, of time, processes, memory, strings, numbers, files and sockets.

#![cfg_attr(not(any(test, target_feature = "crt-static")), allow(dead_code))]

use std::ffi::c_void;

/// Declares the functions, and a table of their names and addresses in the given order.
macro_rules! c_functions {
    ($($name:ident)*) => {
        mod declared {
            // Only the addresses are used; scripts declare the types.
            unsafe extern "C" {
                $(pub fn $name();)*
            }
        }

        pub fn address(name: &str) -> Option<*mut c_void> {
            match name {
                $(stringify!($name) => Some(declared::$name as *mut c_void),)*
                _ => None,
            }
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

c_functions! {
    // Time and processes.
    clock clock_getres clock_gettime difftime gettimeofday gmtime_r localtime_r mktime nanosleep sleep strftime time
    times usleep
    getegid geteuid getgid gethostname getpid getppid getpriority getrusage getuid kill raise sched_getaffinity
    sched_getcpu sched_setaffinity sched_yield setpriority syscall sysconf uname
    // Memory and the environment.
    calloc free malloc posix_memalign realloc
    abort exit getenv setenv system unsetenv
    // Strings and characters.
    memchr memcmp memcpy memmove memset strcasecmp strcat strchr strcmp strcpy strcspn strdup strerror strlen
    strncasecmp strncat strncmp strncpy strpbrk strrchr strspn strstr strtok_r
    isalnum isalpha isdigit islower ispunct isspace isupper tolower toupper
    // Numbers.
    abs atof atoi atol atoll drand48 labs lrand48 rand rand_r random srand srand48 srandom strtod strtol strtoll strtoul
    strtoull
    acos asin atan atan2 cbrt ceil cos cosh erf exp exp2 fabs floor fmod hypot ldexp lgamma log log10 log1p log2 pow
    round sin sinh sqrt tan tanh tgamma trunc
    qsort
    // Files and output.
    access chdir close dup2 fcntl fsync getcwd lseek mkdir open pipe read readlink rename rmdir stat unlink write
    fclose feof fflush fgets fopen fprintf fputs fread fseek ftell fwrite perror printf putchar puts snprintf sprintf
    sscanf
    // Sockets and waiting.
    accept bind connect getsockopt inet_ntop inet_pton listen poll recv select send setsockopt shutdown socket
}

#[cfg(test)]
mod tests {
    use super::{NAMES, address};
    use std::ffi::{CString, c_void};

    #[test]
    fn each_function_is_found_under_its_own_name() {
        for name in NAMES {
            let symbol = CString::new(*name).expect("a name");
            // SAFETY: the name is a C string.
            let expected = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
            assert!(!expected.is_null(), "the C library has no {name}");
            assert!(
                address(name).is_some_and(|found| !found.is_null()),
                "{name}"
            );
        }
        assert_eq!(address("no_such_function"), None);
    }

    #[test]
    fn an_address_is_that_of_the_function() {
        let address = address("abs").expect("in the table");
        // SAFETY: this is the type of `abs`.
        let absolute =
            unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(i32) -> i32>(address) };
        assert_eq!(absolute(-3), 3);
    }
}

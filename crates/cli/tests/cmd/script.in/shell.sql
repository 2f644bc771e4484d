SELECT 1;
\shell echo hello

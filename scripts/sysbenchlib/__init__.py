"""The modules of golden-sysbench."""

"""What golden-sysbench is made of."""

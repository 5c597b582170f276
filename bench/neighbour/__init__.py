"""One well-behaved tenant alongside a hostile one, against the same tenant alongside a well-behaved one."""

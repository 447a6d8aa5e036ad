"""Which visits may start now: fair over accounts and jobs, gentle to domains, careful with what has killed a worker."""

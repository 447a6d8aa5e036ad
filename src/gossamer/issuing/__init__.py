"""Which visits may start now: fair over jobs, gentle to domains, careful with those that have killed a worker."""

"""From bytes that arrived to a page that can be read. Pure and synchronous: this is where most CPU time goes."""

"""From a page that was read to facts about it. Pure and synchronous."""

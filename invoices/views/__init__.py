"""The finance pages. Each view: access first, one call into a rule module, then an answer."""

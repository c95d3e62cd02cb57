"""`safeexec serve`: sessions, a judge and the shape of E2B, for many tenants over HTTP."""

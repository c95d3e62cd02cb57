"""The kernel of notebooks, and `%%safeexec` in an ordinary one."""

"""What must be right for the wall and for undo to hold: policy, kernel, processes, sessions."""

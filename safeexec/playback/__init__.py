"""What can be done with a recording: run it again and compare, and show it as a page."""

"""What templates of ours write numbers with."""

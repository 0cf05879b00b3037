"""What people may enter, and what is said when it makes no sense."""

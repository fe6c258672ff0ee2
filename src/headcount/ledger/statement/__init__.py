"""The statement of an account, as a page to read and to file."""

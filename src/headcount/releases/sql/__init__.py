"""A question written as SQL, read into the arguments of the verb that answers it."""

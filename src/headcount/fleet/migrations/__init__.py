"""The fleet's schema, one step per version. A fleet is brought up to date when it is opened."""

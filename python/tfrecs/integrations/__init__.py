"""Other libraries' types, one file a library, loaded when a method first needs it."""

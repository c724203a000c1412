"""The same job for privtally and its peers, each in a process and an environment of its own."""

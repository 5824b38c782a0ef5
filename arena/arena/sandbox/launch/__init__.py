"""What the launcher locks a process up with; standard library only, since nothing else can be imported."""

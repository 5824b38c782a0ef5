"""The command `arena`."""


def main() -> None:
    """Run the command line."""
    # Not above: a worker imports the module that began its run, and has no use for a command line.
    from arena.cli.main import main as run

    run()


if __name__ == "__main__":
    main()

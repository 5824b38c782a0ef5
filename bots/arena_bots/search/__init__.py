"""Search algorithms shared by the bundled bots: budgets, the line heuristic, alpha-beta, UCT."""

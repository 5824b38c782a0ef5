"""A person plays a bot: the referee asks their seat like that of any bot, and orders in the store answer."""

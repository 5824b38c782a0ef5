"""The frame around the screens: header, tabs, footer, help, filter, and the arrival of data."""

"""What surrounds the screens: header, tabs, footer, help, filter, and how data arrives."""

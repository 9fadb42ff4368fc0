"""What the papers print, as items that can be run, drawn and judged; one paper a file."""

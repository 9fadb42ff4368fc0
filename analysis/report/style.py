"""The page's style sheet: light and dark, wide and narrow, and on paper."""

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1b1f24; --quiet: #57606a; --paper: #ffffff; --line: #d9dde2; --band: #f5f7f9;
  --link: #0b5cad; --good: #116329; --bad: #a40e26; --warn-band: #fff4e5; --warn: #b35900;
}
.dark-only { display: none; }
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e8eb; --quiet: #a3abb5; --paper: #14171a; --line: #3a4048; --band: #1d2125;
    --link: #6cb6ff; --good: #57d17a; --bad: #ff8d88; --warn-band: #33260f; --warn: #f0b35a;
  }
  .light-only { display: none; }
  .dark-only { display: block; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 72rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 Helvetica, Arial, "Liberation Sans", sans-serif;
  overflow-wrap: anywhere;
}
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 0 0 .75rem; }
main > section { margin-top: 2.5rem; padding-top: 1.25rem; border-top: 1px solid var(--line); }
a { color: var(--link); }
.id { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .92em; }
.summary { margin: 0; color: var(--quiet); }
.verdicts {
  display: flex; flex-wrap: wrap; gap: .25rem 2rem; list-style: none; padding: 0;
  margin: .25rem 0 1rem; font-size: 1.25rem;
}
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: var(--good); }
h2.paper { font-size: 1.6rem; margin-top: 4rem; }
.differs { color: var(--bad); }
.unclear { color: var(--quiet); }
.not-measured { color: var(--quiet); }
.problems {
  margin: 1rem 0; padding: .75rem 1rem; background: var(--warn-band);
  border-left: 5px solid var(--warn);
}
.problems h2 { font-size: 1.05rem; margin: 0 0 .25rem; color: var(--warn); }
.problems ul { margin: 0; padding-left: 1.2rem; }
nav ul { margin: 1rem 0 0; padding-left: 1.2rem; columns: 22rem; font-size: .92rem; }
.box { overflow-x: auto; margin: 0 0 1.25rem; max-width: 100%; }
.box:focus-visible, pre:focus-visible { outline: 2px solid var(--link); }
table {
  border-collapse: collapse; font-size: .88rem; overflow-wrap: normal;
  border-bottom: 1px solid var(--ink);
}
caption {
  text-align: left; padding: 0 0 .35rem; color: var(--quiet); font-size: .92rem;
  white-space: nowrap;
}
thead th {
  border-top: 1px solid var(--ink); border-bottom: 1px solid var(--ink); text-align: left;
  vertical-align: bottom; font-weight: 600;
}
th, td { padding: .3rem .75rem .3rem 0; vertical-align: top; }
th + th, td + td { padding-left: .25rem; }
tbody tr:nth-child(even) { background: var(--band); }
td { min-width: 3rem; }
td:first-child { min-width: 6rem; }
table:has(.verdict) :is(td:first-child, td:last-child) { min-width: 11rem; }
table:has(a) td:nth-child(2) { min-width: 12rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
table:has(.verdict) td.number { white-space: normal; min-width: 4.5rem; }
td small { display: block; color: var(--quiet); font-size: .82em; }
.figures {
  display: grid; gap: 1.5rem 2rem; margin: 1.25rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr));
}
figure { margin: 0; min-width: 0; max-width: 36rem; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: .88rem; margin-top: .5rem; color: var(--quiet); }
figcaption b { color: var(--ink); }
details { margin: .6rem 0 1rem; }
summary { cursor: pointer; color: var(--link); font-size: .92rem; padding: .2rem 0; }
details[open] > summary { margin-bottom: .5rem; }
pre {
  overflow-x: auto; background: var(--band); border: 1px solid var(--line); padding: .75rem;
  font: .82rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; margin: 0; overflow-wrap: normal;
}
.facts {
  display: grid; gap: .4rem 1.5rem; margin: 0 0 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr));
}
.facts div { min-width: 0; }
dt { color: var(--quiet); font-size: .82rem; }
dd { margin: 0; font-size: .92rem; }
@media (min-width: 45rem) { .facts div:nth-last-child(-n+2) { grid-column: span 2; } }
footer { margin-top: 3rem; color: var(--quiet); font-size: .82rem; }
@media print {
  @page { margin: 15mm; }
  html { font-size: 9.5pt; }
  body { max-width: none; padding: 0; }
  nav, details:not([open]) { display: none; }
  a { color: inherit; text-decoration: none; }
  .box { overflow: visible; }
  table { font-size: 7.5pt; }
  caption, td.number, .verdict { white-space: normal; }
  th, td { padding: .2rem .4rem .2rem 0; }
  td:nth-child(n), table:has(.verdict, a) td:nth-child(n) { min-width: 0; }
  tr, figure, .problems { break-inside: avoid; }
  thead { display: table-header-group; }
  h2 { break-after: avoid; }
  pre { white-space: pre-wrap; }
  .figures { display: block; }
  figure { display: inline-block; width: 48%; margin: 0 1% 1rem 0; vertical-align: top; }
}
"""

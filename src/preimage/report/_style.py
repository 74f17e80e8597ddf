"""How a report looks."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --paper: #fff; --tint: #eaf3fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #9aa5b3; --line: #384250; --paper: #14181e; --tint: #1d3040; }
}
body { margin: 0 auto; max-width: 60rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
       font: 1.05rem/1.6 system-ui, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: 0 0 1.2rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .6rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { max-width: 44rem; }
figure { margin: 1.6rem 0; overflow-x: auto; }
figure img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
caption, figcaption { color: var(--soft); font-size: .92rem; text-align: left; }
figcaption { margin-top: .4rem; max-width: 44rem; }
caption { padding-bottom: .5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; }
th { border-bottom-width: 2px; font-weight: 600; }
td.number, th.number { text-align: right; padding: .35rem .6rem; }
tr.marked td { background: var(--tint); font-weight: 600; }
pre { overflow-x: auto; padding: .9rem 1.1rem; background: var(--tint); border-radius: 6px; font-size: .92rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem; }
"""

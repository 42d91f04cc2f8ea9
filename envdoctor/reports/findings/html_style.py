"""The look of the HTML report: light and dark by the reader's own choice, and readable on paper."""

STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --soft: #59636e; --page: #fff; --card: #f6f8fa; --line: #d1d9e0;
  --error: #c2191f; --warning: #8a5a00; --info: #0a5cc2; --good: #1a6b34; --mark: #ffe08a; --marked: #1f2328; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ed; --soft: #a3adb8; --page: #14181d; --card: #1d232a;
  --line: #3a434d; --error: #ff8078; --warning: #e8b34b; --info: #7db7ff; --good: #6cc98a; --mark: #7a5b00;
  --marked: #fff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem 1rem 4rem; color: var(--text); background: var(--page);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h1, h2, h3 { line-height: 1.25; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .8rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0; display: flex; flex-wrap: wrap; gap: .1rem .6rem; align-items: baseline; }
h3 .soft { font-weight: 400; font-size: .9em; }
a { color: var(--info); } p { margin: .4rem 0; }
code, pre, h2.path { font-family: ui-monospace, "DejaVu Sans Mono", "Liberation Mono", Menlo, monospace; }
code, h2.path, p, h3, td, dd, li { overflow-wrap: anywhere; }
code, pre { font-size: .88em; } code.whole { white-space: nowrap; }
.soft { color: var(--soft); }
.filter { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th.number, td.number { text-align: right; width: 6rem; font-variant-numeric: tabular-nums; }
article { background: var(--card); border: 1px solid var(--line); border-left: .3rem solid var(--line);
  border-radius: .4rem; padding: .8rem 1rem; margin: 0 0 1rem; }
article.error { border-left-color: var(--error); } article.warning { border-left-color: var(--warning); }
article.info { border-left-color: var(--info); }
article.dropped { border-left-color: var(--line); }
.severity { font-weight: 700; } .error > h3 .severity { color: var(--error); }
.warning > h3 .severity { color: var(--warning); } .info > h3 .severity { color: var(--info); }
.state { border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem; font-size: .85em; font-weight: 400; }
.confirmed { color: var(--error); } .refuted { color: var(--good); } .untested { color: var(--soft); }
pre { margin: .6rem 0; padding: .5rem .8rem; white-space: pre-wrap;
  overflow-wrap: anywhere; background: var(--page); border: 1px solid var(--line);
  border-radius: .3rem; tab-size: 4; }
pre .soft { user-select: none; margin-right: 1rem; }
mark { background: var(--mark); color: var(--marked); border-radius: .15rem; padding: .1rem 0; }
dl { display: grid; grid-template-columns: minmax(5.5rem, max-content) 1fr; gap: .25rem .9rem; margin: .6rem 0 0; }
dt { color: var(--soft); } dd { margin: 0; }
details { margin: .6rem 0 0; } summary { cursor: pointer; color: var(--soft); } ul { margin: .3rem 0; }
section.rule { margin: 1.4rem 0; }
body:has(#show-error:not(:checked)) article.error, body:has(#show-warning:not(:checked)) article.warning,
body:has(#show-info:not(:checked)) article.info,
body:has(#show-error:not(:checked)) section:has(> article):not(:has(> article:not(.error))),
body:has(#show-warning:not(:checked)) section:has(> article):not(:has(> article:not(.warning))),
body:has(#show-info:not(:checked)) section:has(> article):not(:has(> article:not(.info))) { display: none; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
@media print { .filter { display: none; } article { break-inside: avoid; } }
"""

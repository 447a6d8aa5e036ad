"""Style of the report page: light or dark by the reader's setting, for paper and for phones."""

CSS = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #52606d; --rule: #d9e0e5; --back: #fff; --card: #f6f8fa;
  --accent: #1f5673; --bar: #3d84a8; --good: #2f855a; --fair: #b7791f; --bad: #b83232; --mark: #fff1b8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ed; --soft: #a3b0ba; --rule: #33404a; --back: #14191d;
  --card: #1c2329; --accent: #8fc7e3; --bar: #4f9dc4; --good: #5ec28c; --fair: #e0b153; --bad: #ee8080;
  --mark: #5c4b12; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2.5rem 1.25rem 3rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; color: var(--accent); overflow-wrap: anywhere; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.2rem; color: var(--accent); }
p { margin: .4rem 0; }
.soft { color: var(--soft); }
.partial { margin: 1rem 0; padding: .6rem .9rem; border-left: 4px solid var(--fair); background: var(--card); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1.5rem 0; }
.tile { padding: .9rem 1rem; border-radius: .5rem; background: var(--card); }
.tile b { display: block; font-size: 1.7rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem 2rem; }
figure { margin: 0; min-width: 0; }
figcaption { margin-bottom: .4rem; font-weight: 600; }
svg { display: block; width: 100%; max-width: 440px; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .count { fill: var(--soft); font-variant-numeric: tabular-nums; }
figure dl { margin-top: .5rem; font-size: .88rem; }
dl { display: grid; grid-template-columns: 11rem 1fr; gap: .3rem 1rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-size: .93rem; }
th { padding: .4rem .6rem; border-bottom: 2px solid var(--rule); text-align: left; color: var(--soft);
  font-weight: 600; vertical-align: bottom; }
td { padding: .55rem .6rem; border-bottom: 1px solid var(--rule); vertical-align: top; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { max-width: 6rem; white-space: normal; }
.name { min-width: 11rem; font-weight: 600; }
.costs { margin-top: .75rem; }
.costs tfoot td { border-bottom: 0; border-top: 2px solid var(--rule); font-weight: 600; }
ul { margin: .75rem 0 0; padding-left: 1.2rem; }
.new { margin-left: .4rem; padding: 0 .4rem; border-radius: 1rem; background: var(--good); color: var(--back);
  font-size: .75rem; }
a { color: var(--accent); }
mark { background: var(--mark); color: inherit; padding: 0 .1em; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--rule); font-size: .88rem; }
@media (max-width: 40rem) {
  body { padding-top: 1.5rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
  thead { display: none; }
  table, tbody { display: block; }
  tr { display: grid; grid-template-columns: 1fr auto; gap: .1rem .75rem; padding: .8rem 0;
    border-bottom: 1px solid var(--rule); }
  td { display: block; padding: 0; border: 0; }
  td.rank { display: none; }
  td.wide { grid-column: 1 / -1; }
  td.number { text-align: left; color: var(--soft); }
  td.number::before { content: attr(data-title) " "; }
  td.score { text-align: right; color: var(--ink); font-weight: 600; }
  td.score::before { content: none; }
  tfoot { display: block; }
  .costs tr { grid-template-columns: 1fr 1fr; }
  .costs td.name { grid-column: 1 / -1; }
  .costs td.number:empty { display: none; }
  .costs tfoot td { border: 0; }
  .costs tfoot tr { border-bottom: 0; }
}
@media print {
  :root { --ink: #000; --soft: #444; --rule: #bbb; --back: #fff; --card: #f4f4f4; --accent: #1f5673; --bar: #3d84a8;
    --good: #2f855a; --fair: #b7791f; --bad: #b83232; --mark: #fff1b8; }
  body { padding: 0; font-size: 11pt; }
  tr, figure, .tile { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""

"""The inbox pages' style sheet, in one piece: pages of the sandbox load nothing."""

CSS = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --panel: #ffffff; --ink: #1d2733; --soft: #5d6b7a; --line: #dfe4ea;
  --accent: #2458c5; --accent-soft: #e8effd; --warn: #8a4b00; --warn-soft: #fff3de;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --panel: #1a2028; --ink: #e4e9f0; --soft: #9aa7b6; --line: #2c3541;
    --accent: #8db4ff; --accent-soft: #1f2d49; --warn: #ffc774; --warn-soft: #3a2c14;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
main { max-width: 72rem; margin: 0 auto; padding: 1.75rem 1.25rem 4rem; }
a { color: var(--accent); text-underline-offset: .15em; }
a:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 .6rem; }
p { margin: .35rem 0; }
.soft { color: var(--soft); }
.panel {
  background: var(--panel); border: 1px solid var(--line); border-radius: .6rem; overflow: hidden;
}
.counts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(6rem, 1fr)); gap: .6rem;
  margin: 1.25rem 0; padding: 0;
}
.counts div {
  padding: .55rem .85rem; border-radius: .6rem;
  background: var(--panel); border: 1px solid var(--line);
}
.counts dt { color: var(--soft); font-size: .82rem; }
.counts dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.switches { padding: .9rem 1rem 1rem; margin-bottom: 1.25rem; }
.switches form { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .7rem; }
.state { display: flex; gap: .6rem; align-items: baseline; margin: 0; overflow-wrap: anywhere; }
.state::before { content: ""; flex: none; width: .6rem; height: .6rem; border-radius: 50%;
  background: #2f9e5b; }
.state.faulty { color: var(--warn); }
.state.faulty::before { background: #e08a00; }
button {
  font: inherit; font-size: .92rem; color: var(--ink); background: var(--page);
  border: 1px solid var(--line); border-radius: .45rem; padding: .4rem .8rem; cursor: pointer;
}
button:hover { border-color: var(--accent); color: var(--accent); }
button.clear { background: var(--accent-soft); color: var(--accent); border-color: transparent;
  margin-left: auto; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .6rem 1rem; overflow-wrap: anywhere; }
th { color: var(--soft); font-size: .85rem; font-weight: 600; }
tr + tr > *, thead + tbody > tr > * { border-top: 1px solid var(--line); }
.list { table-layout: fixed; font-size: .95rem; }
.list th, .list td { padding: .6rem .8rem; }
@media (min-width: 56.01rem) {
  .list .to { width: 26%; }
  .list .files-of { width: 19%; }
  .list .time { width: 15.5%; }
  .list .count { width: 10.5%; }
}
.list tbody tr { position: relative; }
.list tbody tr:hover { background: var(--accent-soft); }
.list td.subject a { font-weight: 600; text-decoration: none; }
.list td.subject a::after { content: ""; position: absolute; inset: 0; }
.list td.time, .list td.count { font-variant-numeric: tabular-nums; }
.again { white-space: nowrap; }
.fields th { width: 12rem; font-weight: 500; }
.again {
  background: var(--warn-soft); color: var(--warn); border-radius: 1rem; padding: .1rem .55rem;
  font-size: .88rem;
}
.narrow { display: none; }
.empty { padding: 3rem 1rem; text-align: center; color: var(--soft); }
iframe {
  display: block; width: 100%; height: 30rem; border: 0; background: #ffffff;
  color-scheme: light; resize: vertical;
}
pre {
  margin: 0; padding: .9rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere;
  font: .88rem/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
.files { list-style: none; margin: 0; padding: 0; }
.files li { padding: .6rem 1rem; overflow-wrap: anywhere; }
.files li + li { border-top: 1px solid var(--line); }
.crumb { margin: 0 0 .6rem; }
@media (max-width: 56rem) {
  .list thead { display: none; }
  .list tbody tr { display: grid; grid-template-columns: 1fr auto; gap: .1rem .8rem;
    padding: .7rem .9rem; }
  .list tbody tr + tr { border-top: 1px solid var(--line); }
  .list tbody tr > td { border: 0; padding: 0; }
  .list td.subject { grid-column: 1 / -1; grid-row: 1; }
  .list td.to { grid-column: 1 / -1; }
  .list td.files-of { color: var(--soft); font-size: .9rem; }
  .list td.time { color: var(--soft); font-size: .9rem; }
  .list td.count { grid-column: 1 / -1; font-size: .9rem; }
  .narrow { display: inline; }
  .list td.count.once { display: none; }
}
@media (max-width: 44rem) {
  main { padding: 1.1rem .8rem 3rem; }
  .counts { grid-template-columns: repeat(3, 1fr); }
  .counts div { padding: .45rem .6rem; }
  .counts dt { font-size: .76rem; }
  .counts dd { font-size: 1.1rem; }
  .switches form button { flex: 1 1 100%; text-align: left; }
  button.clear { margin-left: 0; }
  .fields tr { display: block; padding: .5rem .9rem; }
  .fields tr > th, .fields tr > td { display: block; width: auto; padding: 0; border: 0; }
  .fields tr + tr { border-top: 1px solid var(--line); }
  iframe { height: 26rem; }
}
"""

/** Draws a recorded run as an SVG: a window with one row for each event, and a highlighted one for each action. */

/** One row. `seq` is null for an action, which is not an event. */
export interface Row {
  /** Seconds since the beginning. */
  at: number
  seq: number | null
  /** The name of an event or action. */
  name: string
  detail: string
  mood: 'plain' | 'person' | 'stop' | 'fault' | 'good'
}

const width = 880
const rowHeight = 25
const top = 84
const bottom = 26
/** More space below the row of a fault, where the line is broken. */
const gap = 14
const columns = { time: 28, line: 102, seq: 126, name: 152, detail: 372 }

const style = `
  .window { fill: #ffffff; stroke: #d0d7de }
  .bar { fill: #f6f8fa }
  .rule { stroke: #d0d7de }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace; fill: #1f2328 }
  .title { font-weight: 600 }
  .quiet { fill: #656d76 }
  .done { font-weight: 600 }
  .band { fill: #f6f8fa }
  .plain { fill: #57606a } .person { fill: #0969da } .stop { fill: #9a6700 } .fault { fill: #cf222e } .good { fill: #1a7f37 }
  .track { stroke: #d0d7de; stroke-width: 2 }
  .cut { stroke: #cf222e; stroke-width: 2; stroke-dasharray: 2 4 }
  @media (prefers-color-scheme: dark) {
    .window { fill: #0d1117; stroke: #30363d }
    .bar, .band { fill: #161b22 }
    .rule, .track { stroke: #30363d }
    text { fill: #e6edf3 }
    .quiet { fill: #8d96a0 }
    .plain { fill: #8d96a0 } .person { fill: #4493f8 } .stop { fill: #d29922 } .fault { fill: #f85149 } .good { fill: #3fb950 }
    .cut { stroke: #f85149 }
  }`

/** The whole picture. Legible on light and dark pages: it follows the reader's colour scheme. */
export function draw(rows: Row[], words: { title: string; prompt: string; closing: string }): string {
  const y = (index: number) =>
    top + index * rowHeight + rows.slice(0, index).filter(({ mood }) => mood === 'fault').length * gap
  const closing = y(rows.length) + 24
  const height = closing + bottom
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(words.title)}">
<style>${style}
</style>
<rect class="window" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10"/>
<path class="bar" d="M1 38V11A10 10 0 0 1 11 1H${width - 11}A10 10 0 0 1 ${width - 1} 11V38Z"/>
<line class="rule" x1="1" x2="${width - 1}" y1="38.5" y2="38.5"/>
${['fault', 'stop', 'good'].map((mood, i) => `<circle class="${mood}" cx="${24 + i * 18}" cy="20" r="5.5"/>`).join('')}
<text class="title" x="${width / 2}" y="24" text-anchor="middle">${escape(words.title)}</text>
<text x="${columns.time}" y="62"><tspan class="person">&gt;</tspan> ${escape(words.prompt)}</text>
${track(rows, y)}
${rows.map((row, index) => drawRow(row, y(index))).join('\n')}
<line class="rule" x1="${columns.time}" x2="${width - columns.time}" y1="${closing - 18.5}" y2="${closing - 18.5}"/>
<text class="good done" x="${columns.time}" y="${closing + 5}">${escape(words.closing)}</text>
</svg>
`
}

/** The line that joins the rows; it is broken where the server is down. */
function track(rows: Row[], y: (index: number) => number): string {
  return rows
    .slice(1)
    .map((_row, i) => {
      const down = rows[i]!.mood === 'fault'
      return `<line class="${down ? 'cut' : 'track'}" x1="${columns.line}" x2="${columns.line}" y1="${y(i) + 9}" y2="${y(i + 1) + 9}"/>`
    })
    .join('')
}

function drawRow({ at, seq, name, detail, mood }: Row, y: number): string {
  const base = y + 13.5
  const time = `<text class="quiet" x="${columns.line - 20}" y="${base}" text-anchor="end">${at.toFixed(2)} s</text>`
  const dot = `<circle class="${mood}" cx="${columns.line}" cy="${y + 9}" r="${seq === null ? 6 : 4}"/>`
  if (seq === null)
    return (
      `<rect class="band" x="${columns.seq - 10}" y="${y - 2}" width="${width - columns.seq + 10 - columns.time}" height="22" rx="5"/>` +
      `${time}${dot}<text x="${columns.seq}" y="${base}"><tspan class="${mood} done">${escape(name)}</tspan>` +
      `  <tspan class="quiet" dx="8">${escape(detail)}</tspan></text>`
    )
  return (
    `${time}${dot}<text class="quiet" x="${columns.name - 12}" y="${base}" text-anchor="end">${seq}</text>` +
    `<text class="${mood === 'plain' ? '' : mood}" x="${columns.name}" y="${base}">${escape(name)}</text>` +
    `<text class="quiet" x="${columns.detail}" y="${base}">${escape(detail)}</text>`
  )
}

const escape = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** The fenced blocks of a document: examples, the answers that they expect, and the reasons of those that cannot run. */

export interface Block {
  /** `file:line` of the fence. */
  at: string
  language: string
  text: string
}

export interface Example extends Block {
  /** The reason of a `<!-- not run: reason -->` directly before the block; null: it must run. */
  excuse: string | null
  /** `json` and `text` blocks that follow with nothing but empty lines between. */
  answers: Block[]
}

const answerLanguages = ['json', 'text']
const fence = /^```(\w*)\s*$/
const marker = /^<!-- not run: (.+) -->$/

/** All blocks of a document in order; `text` blocks that answer no example are left out, being pictures. */
export function examplesOf(file: string, markdown: string): Example[] {
  const examples: Example[] = []
  /** What stands between the last block and this line. */
  let between: string[] = ['']
  const lines = markdown.split('\n')
  for (let i = 0; i < lines.length; i++) {
    const found = fence.exec(lines[i]!)
    if (!found) {
      if (lines[i]!.trim() !== '') between.push(lines[i]!.trim())
      continue
    }
    const end = lines.indexOf('```', i + 1)
    if (end < 0) throw new Error(`${file}:${i + 1} is never closed`)
    const block = { at: `${file}:${i + 1}`, language: found[1]!, text: lines.slice(i + 1, end).join('\n') }
    const last = examples.at(-1)
    const excuse = marker.exec(between.at(-1) ?? '')?.[1] ?? null
    if (last && between.length === 0 && answerLanguages.includes(block.language)) last.answers.push(block)
    else if (block.language !== 'text' || excuse) examples.push({ ...block, excuse, answers: [] })
    between = []
    i = end
  }
  return examples
}

/** The output of the demo: numbered chapters, facts, events and streamed text. */

const colours = process.stdout.isTTY && !process.env['NO_COLOR']
const paint = (code: number) => (text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)
export const [bold, dim, red, green, yellow, cyan] = [1, 2, 31, 32, 33, 36].map(paint) as [
  Paint,
  Paint,
  Paint,
  Paint,
  Paint,
  Paint,
]
type Paint = (text: string) => string

let chapters = 0
/** Whether the current line has streamed text. */
let writing = false

export function chapter(title: string): void {
  line(`\n  ${bold(`${++chapters}  ${title}`)}`)
}

/** One line of explanation. */
export function say(text: string): void {
  line(`     ${text}`)
}

/** One event of the log with its number. */
export function event(seq: number, type: string, detail: string): void {
  line(`     ${dim(String(seq).padStart(2))}  ${cyan(type.padEnd(20))} ${dim(detail)}`)
}

/** A text delta of the model, which is not part of the event log. */
export function textOnItsWay(text: string): void {
  if (!writing) process.stdout.write(`         ${dim('streamed text  ')}      `)
  writing = true
  process.stdout.write(text.replaceAll('\n', ' '))
}

/** One guarantee, and whether it held. */
export function verdict(held: boolean, words: string): void {
  line(`     ${held ? green('✔') : red('✘')}  ${words}`)
}

export function line(text: string): void {
  process.stdout.write(`${writing ? '\n' : ''}${text}\n`)
  writing = false
}

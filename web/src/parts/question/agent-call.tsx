/** What a coding agent wants to do on its machine: marks by rule, the change of a file, and whether the agent still waits. */
import './agent-call.css'
import { useNow } from '../../api/clock.ts'
import { isObject } from '../../../../src/core/exact-json.ts'
import { ClockTime } from '../moments.tsx'
import { Foreign } from '../text.tsx'
import type { Question } from './documents.ts'
import { t, T } from '../../texts/texts.tsx'

const agents = new Set(['claude', 'codex', 'copilot', 'gemini', 'opencode'])

const marks: Record<string, { words: string; tone: string }> = {
  read: { words: t('only reads'), tone: 'good' },
  write: { words: t('writes below the working directory'), tone: 'work' },
  outside: { words: t('writes outside the working directory'), tone: 'bad' },
  network: { words: t('uses the network'), tone: 'warn' },
  deletion: { words: t('deletes or overwrites'), tone: 'bad' },
  unknown: { words: t('no rule knows what it does'), tone: 'warn' },
}

/** The arguments of a call of a coding agent; null for any other call. */
export function agentCallOf({ toolName, arguments: values }: Question) {
  const { tool, input, effects, session, cwd } = values
  if (!agents.has(toolName) || typeof tool !== 'string' || !isObject(input) || !Array.isArray(effects))
    return null
  return { tool, input, session, cwd, effects: effects.filter((one) => typeof one === 'string') }
}

export function AgentCall({ question }: { question: Question }) {
  const call = agentCallOf(question)
  if (!call) return null
  const said = call.input['description']
  return (
    <section aria-label={t('What the agent wants')}>
      <p className="badges">
        {call.effects.map((effect) => (
          <span key={effect} className={`badge tone-${marks[effect]?.tone ?? 'warn'}`}>
            {marks[effect]?.words ?? effect}
          </span>
        ))}
      </p>
      {typeof said === 'string' && said !== '' && (
        <p>
          <T
            text="The agent says, and nobody has checked: {reason}"
            reason={<Foreign text={said} max={500} />}
          />
        </p>
      )}
      <FileChange input={call.input} />
      {question.status === 'PENDING' && question.toolCall && (
        <Waiting until={question.toolCall.callerWaitsUntil} />
      )}
    </section>
  )
}

function Waiting({ until }: { until: string | null }) {
  const now = useNow()
  return (
    <p className="mute">
      {until !== null && Date.parse(until) > now ? (
        <T text="The agent waits for the decision until {clock}." clock={<ClockTime at={until} />} />
      ) : (
        t('The agent waits no longer: it gets the decision when it is resumed or tries again.')
      )}
    </p>
  )
}

/** How many lines of a change are drawn; the arguments below have all of them. */
const most = 200
/** Unchanged lines around a change. */
const around = 3

interface Line {
  at: number
  sign: ' ' | '-' | '+'
  text: string
}

/** The lines that an edit takes out and puts in, as the agent gave them; null when it edits no text. */
function linesOf(input: Record<string, unknown>): Line[] | null {
  const text = (...names: string[]) =>
    names.map((name) => input[name]).find((value) => typeof value === 'string')
  const [before, after] = [
    text('old_string', 'oldString', 'old_str'),
    text('new_string', 'newString', 'new_str'),
  ]
  const whole = text('content', 'file_text')
  if (typeof whole === 'string') return whole.split('\n').map((line, at) => ({ at, sign: '+', text: line }))
  if (typeof before !== 'string' || typeof after !== 'string') return null
  const [from, to] = [before.split('\n'), after.split('\n')]
  let begin = 0
  while (begin < Math.min(from.length, to.length) && from[begin] === to[begin]) begin++
  let end = 0
  while (end < Math.min(from.length, to.length) - begin && from.at(-1 - end) === to.at(-1 - end)) end++
  const signed = (sign: Line['sign'], lines: string[]) => lines.map((line) => ({ sign, text: line }))
  return [
    ...signed(' ', from.slice(Math.max(0, begin - around), begin)),
    ...signed('-', from.slice(begin, from.length - end)),
    ...signed('+', to.slice(begin, to.length - end)),
    ...signed(' ', to.slice(to.length - end, to.length - end + around)),
  ].map((line, at) => ({ ...line, at }))
}

const spoken: Record<Line['sign'], string> = { '-': t('removed:'), '+': t('added:'), ' ': '' }

function FileChange({ input }: { input: Record<string, unknown> }) {
  const lines = linesOf(input)
  if (!lines) return null
  return (
    <div className="file-change mono small" dir="ltr" tabIndex={0} role="group" aria-label={t('The change')}>
      {lines.slice(0, most).map(({ at, sign, text }) => (
        <div key={at} className={sign === '-' ? 'taken' : sign === '+' ? 'put' : undefined}>
          <span aria-hidden="true">{sign} </span>
          {spoken[sign] !== '' && <span className="sr-only">{spoken[sign]} </span>}
          <Foreign text={text} />
        </div>
      ))}
      {lines.length > most && (
        <p className="mute">
          {t('and {count} more lines, in the arguments below', { count: lines.length - most })}
        </p>
      )}
    </div>
  )
}

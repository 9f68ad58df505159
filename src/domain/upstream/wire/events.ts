/** Rewrites the messages in a text/event-stream while it is read. Pure. */
import { EgressError } from '../../egress/index.ts'

export interface EventReader {
  /** Takes the next part of the stream, and returns what is complete, rewritten. */
  push(text: string): string
  /** The rest, when the stream has ended. */
  end(): string
  /** The data of the event that is not complete yet. */
  rest(): string
}

/** An empty line ends an event. */
const eventEnd = /(?:\r\n|\n){2}|\r\r/

/**
 * `read` gets the data of each event that carries a message, and returns the messages to pass on as JSON; null: it is passed on
 * unchanged. A stream that is no stream of events but one JSON text becomes one event, and so does a last event without its end.
 * `push` throws TOO_LARGE when one event is longer than `maxLength`.
 */
export function createEventReader(read: (data: string) => string[] | null, maxLength: number): EventReader {
  /** What has come of the event that is not complete. */
  let parts: string[] = []
  let length = 0
  let tail = ''
  let isJson: boolean | undefined
  const rewritten = (event: string): string => {
    const { data, others } = isJson ? { data: event, others: [] } : fieldsOf(event)
    const messages = data === null ? null : read(data)
    if (!messages) return isJson ? '' : `${event}\n\n`
    return messages.map((message) => [...others, `data: ${message}`, '', ''].join('\n')).join('')
  }
  return {
    push(part) {
      const seam = tail + part
      tail = seam.slice(-3)
      parts.push(part)
      length += part.length
      if (length > maxLength)
        throw new EgressError('TOO_LARGE', `A message of the server is larger than ${maxLength} bytes.`, true)
      isJson ??= looksLikeJson(parts)
      if (isJson || seam.search(eventEnd) < 0) return ''
      const events = parts.join('').split(eventEnd)
      const rest = events.pop()!
      parts = [rest]
      length = rest.length
      return events.map(rewritten).join('')
    },
    end() {
      const last = parts.join('')
      parts = []
      return last.trim() === '' ? '' : rewritten(last)
    },
    rest: () => (isJson ? parts.join('') : (fieldsOf(parts.join('')).data ?? '')),
  }
}

/** Undefined while nothing but white space has come. */
function looksLikeJson(parts: string[]): boolean | undefined {
  const first = /[^\s\ufeff]/.exec(parts.join(''))?.[0]
  return first === undefined ? undefined : first === '{' || first === '['
}

/** The data of an event, null for one without, and its lines that are neither that nor its name. */
function fieldsOf(event: string): { data: string | null; others: string[] } {
  const lines = event.split(/\r\n|\n|\r/).filter((line) => line !== '')
  const data = lines.filter((line) => /^data(?::|$)/.test(line)).map((line) => line.replace(/^data:? ?/, ''))
  return {
    data: data.length > 0 ? data.join('\n') : null,
    // What is a message is one whatever its event is called: the SDK reads only those with the usual name.
    others: lines.filter((line) => !/^(?:data|event)(?::|$)/.test(line)),
  }
}

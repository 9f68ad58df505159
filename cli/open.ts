/** `gatehouse open`: a link that signs a browser in. */
import { GatehouseError, readJson, writeJson } from '../client/index.ts'
import { note, out, outJson } from './screen.ts'
import { addressOf, baseOf, commonHelp, UsageError, type Command } from './usage.ts'

export const open: Command = {
  summary: 'print a link that signs a browser in',
  help: `gatehouse open

Prints the address of the dashboard with a code that signs one browser in, once,
within five minutes, as the owner of the API key.

${commonHelp}`,
  options: {},
  isWordless: true,
  async run(given, signal) {
    const link = await requestLink(addressOf(given), signal)
    if (given.options['json']) outJson(link)
    else {
      out(`${link.url}\n`)
      note(`It signs one browser in, once, until ${link.expiresAt}.`)
    }
    return 0
  },
}

/** How long an answer is waited for, in milliseconds. */
const longestMs = 30_000

interface Link {
  url: string
  expiresAt: string
}

async function requestLink({ url, key }: { url: string; key: string }, signal: AbortSignal): Promise<Link> {
  const base = baseOf(url)
  if (!URL.canParse(base)) throw new UsageError(`This is no address of a server: ${url}`)
  const limit = new AbortController()
  const stop = () => limit.abort()
  signal.addEventListener('abort', stop, { once: true })
  const timer = setTimeout(stop, longestMs)
  const { response, text } = await fetch(`${base}/session/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: writeJson({ key }),
    redirect: 'error',
    signal: limit.signal,
  })
    .then(async (answer) => ({ response: answer, text: await answer.text() }))
    .catch((error: unknown) => {
      if (signal.aborted) throw error
      throw new GatehouseError('UNREACHABLE', `The server cannot be reached at ${base}.`)
    })
    .finally(() => clearTimeout(timer))
  const body = answerIn(text)
  if (response.ok && body.url !== undefined && body.expiresAt !== undefined)
    return { url: body.url, expiresAt: body.expiresAt }
  const message = body.error ?? `The server answered with HTTP ${response.status}.`
  throw new GatehouseError(body.code ?? 'UNREACHABLE', message)
}

type Answer = Partial<Link> & { error?: string; code?: string }

function answerIn(text: string): Answer {
  try {
    return (readJson(text) ?? {}) as Answer
  } catch {
    return {}
  }
}
